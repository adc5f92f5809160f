using System.Net;
using System.Net.Sockets;
using Microsoft.Win32.SafeHandles;
using Millrace.Engine.Connecting;
using Millrace.Engine.Errands;
using Millrace.Engine.Listening;

namespace Millrace.Engine;

/// <content>What code on the reactor asks of it beside its connections: to connect, to wait, to read a file.</content>
public sealed partial class Reactor
{
    /// <summary>Finished waits kept for the next ones; a peak beyond is left to the collector.</summary>
    private const int SparesKept = 1_024;

    private readonly Stack<Delay> _spareDelays = new();
    private readonly Stack<MemoryRead> _spareReads = new();

    internal ErrandTable Errands { get; private set; } = null!;

    /// <summary>The clock as it is now; <see cref="NowMs"/> is as old as the turn.</summary>
    internal long ClockMs => Backend.NowMs;

    /// <summary>
    /// Connects to an IP address or a unix socket, and gives the connection to a handler, as a listener gives the accepted ones: it
    /// belongs to this reactor, and ends when the handler has returned. It counts for none of the limits of connections
    /// (<see cref="Limits.Connections"/>), which are for clients. Completes, on the reactor's thread, when the handler has run as far as
    /// its first wait. Reactor thread.
    /// </summary>
    /// <param name="endPoint">The address. A name is to be resolved first.</param>
    /// <param name="handler">Serves the connection from its first byte to its last.</param>
    /// <param name="cancellation">Gives it up.</param>
    /// <exception cref="SocketException">
    /// It failed, or took longer than <see cref="Limits.ConnectTimeout"/> (<see cref="SocketError.TimedOut"/>); the message names cause
    /// and remedy.
    /// </exception>
    /// <exception cref="OperationCanceledException">It was cancelled, or the reactor stops.</exception>
    /// <exception cref="NotSupportedException">It is no address that can be connected to.</exception>
    /// <exception cref="InvalidOperationException">The caller is not on the reactor's thread.</exception>
    public Task ConnectAsync(EndPoint endPoint, ConnectionHandler handler, CancellationToken cancellation = default) =>
        ConnectAsync(endPoint, handler, ConnectSettings.Of(Limits), cancellation);

    /// <summary>The same within another time; <see cref="Timeout.InfiniteTimeSpan"/>: as long as the kernel tries.</summary>
    /// <inheritdoc cref="ConnectAsync(EndPoint, ConnectionHandler, CancellationToken)"/>
    public Task ConnectAsync(
        EndPoint endPoint, ConnectionHandler handler, TimeSpan timeout, CancellationToken cancellation = default)
    {
        RequireTime(timeout, nameof(timeout));
        return ConnectAsync(endPoint, handler, ConnectSettings.Of(Limits) with { Timeout = timeout }, cancellation);
    }

    /// <summary>
    /// Waits, as <see cref="Task.Delay(TimeSpan)"/> does, but goes on in the reactor's loop and allocates nothing; met up to 8 ms late. To
    /// be awaited once. Reactor thread.
    /// </summary>
    /// <param name="time">How long; <see cref="Timeout.InfiniteTimeSpan"/>: until it is cancelled.</param>
    /// <param name="cancellation">Ends it early.</param>
    /// <exception cref="OperationCanceledException">
    /// It was cancelled, or the reactor stops: who waits when the time for finishing is over need not wait any more.
    /// </exception>
    /// <exception cref="InvalidOperationException">The caller is not on the reactor's thread.</exception>
    public ValueTask Delay(TimeSpan time, CancellationToken cancellation = default)
    {
        AssertHome();
        RequireTime(time, nameof(time));
        long dueMs = time == Timeout.InfiniteTimeSpan ? long.MaxValue : ClockMs + (long)Math.Ceiling(time.TotalMilliseconds);
        Delay delay = _spareDelays.TryPop(out Delay? spare) ? spare : new Delay(this);
        return delay.Begin(dueMs, cancellation);
    }

    /// <summary>
    /// Reads from a file as an operation on the reactor's ring, without a thread that waits for the disk, and returns how many bytes were
    /// read: as many as there is room for, fewer before the end of the file, 0 at it. The memory is the kernel's until then, also where
    /// the read is cancelled. To be awaited once; allocates nothing. Reactor thread.
    /// </summary>
    /// <param name="file">Kept open while it is read.</param>
    /// <param name="destination">Where the bytes go.</param>
    /// <param name="offset">Where in the file they begin.</param>
    /// <param name="cancellation">Gives the read up, if the disk is not at it yet.</param>
    /// <exception cref="IOException">The file cannot be read; its HResult is the error number.</exception>
    /// <exception cref="ObjectDisposedException">The file is closed.</exception>
    /// <exception cref="OperationCanceledException">It was cancelled, or the reactor stops.</exception>
    /// <exception cref="InvalidOperationException">The caller is not on the reactor's thread.</exception>
    public ValueTask<int> ReadFileAsync(
        SafeFileHandle file, Memory<byte> destination, long offset, CancellationToken cancellation = default)
    {
        AssertHome();
        ArgumentNullException.ThrowIfNull(file);
        ArgumentOutOfRangeException.ThrowIfNegative(offset);
        return NextRead().Begin(file, destination, offset, cancellation);
    }

    /// <summary>The same by a descriptor into native memory. Both stay the caller's, who keeps them until the read has ended.</summary>
    internal unsafe ValueTask<int> ReadDescriptorAsync(int file, byte* destination, int bytes, long offset)
    {
        AssertHome();
        return NextRead().Begin(file, destination, bytes, offset);
    }

    internal async Task ConnectAsync(
        EndPoint endPoint, ConnectionHandler handler, ConnectSettings settings, CancellationToken cancellation)
    {
        AssertHome();
        ArgumentNullException.ThrowIfNull(endPoint);
        ArgumentNullException.ThrowIfNull(handler);
        int socket = ConnectSocket.Open(endPoint, settings);
        socket = await new ConnectAttempt(this, endPoint, socket, settings.Timeout).Begin(cancellation);
        var core = new ListenerCore(endPoint, handler, stages: null) { IsOneAddress = false, TakesPages = false };
        Connections.Rent().Open(socket, core, handler, new Ticket(Admission.Outbound, null));
    }

    /// <summary>An awaiter has its result. One that was elsewhere takes the object along.</summary>
    internal void KeepSpare(Delay delay) => Keep(_spareDelays, delay);

    /// <inheritdoc cref="KeepSpare(Errands.Delay)"/>
    internal void KeepSpare(MemoryRead read) => Keep(_spareReads, read);

    private MemoryRead NextRead() => _spareReads.TryPop(out MemoryRead? spare) ? spare : new MemoryRead(this);

    private void Keep<T>(Stack<T> spares, T spare)
    {
        if (IsHome && spares.Count < SparesKept)
        {
            spares.Push(spare);
        }
    }

    private static void RequireTime(TimeSpan time, string name)
    {
        if (time != Timeout.InfiniteTimeSpan)
        {
            ArgumentOutOfRangeException.ThrowIfNegative(time.Ticks, name);
        }
    }
}

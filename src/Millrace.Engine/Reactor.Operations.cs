using System.Net;
using System.Net.Sockets;
using Microsoft.Win32.SafeHandles;
using Millrace.Engine.Connecting;
using Millrace.Engine.Listening;
using Millrace.Engine.Loop;
using Millrace.Engine.Operations;

namespace Millrace.Engine;

/// <content>Operations for code on the reactor that are not a connection's: connect, delay, file read.</content>
public sealed partial class Reactor
{
    /// <summary>Finished operation objects kept for reuse; those of a larger peak go to the collector.</summary>
    private const int SparesKept = 1_024;

    private readonly Stack<DelayOperation> _spareDelays = new();
    private readonly Stack<FileReadOperation> _spareReads = new();

    internal OperationTable Operations { get; private set; } = null!;

    /// <summary>The current time; <see cref="NowMs"/> is that of the iteration's start.</summary>
    internal long ClockMs => Backend.NowMs;

    /// <summary>
    /// Connects to an IP address or a unix socket and gives the connection to a handler, as a listener does with accepted ones: it belongs
    /// to this reactor and ends when the handler has returned. It does not count for the limits on client connections
    /// (<see cref="Limits.Connections"/>). Completes, on the reactor's thread, when the handler has run as far as its first wait. Reactor
    /// thread.
    /// </summary>
    /// <param name="endPoint">The address. Resolve names first.</param>
    /// <param name="handler">Serves the connection from its first byte to its last.</param>
    /// <param name="cancellation">Cancels the attempt.</param>
    /// <exception cref="SocketException">
    /// The attempt failed, or took longer than <see cref="Limits.ConnectTimeout"/> (<see cref="SocketError.TimedOut"/>); the message names
    /// cause and remedy.
    /// </exception>
    /// <exception cref="OperationCanceledException">It was cancelled, or the reactor stops.</exception>
    /// <exception cref="NotSupportedException">The address is of a kind that cannot be connected to.</exception>
    /// <exception cref="InvalidOperationException">The caller is not on the reactor's thread.</exception>
    public Task ConnectAsync(EndPoint endPoint, ConnectionHandler handler, CancellationToken cancellation = default) =>
        ConnectAsync(endPoint, handler, ConnectSettings.Of(Limits), cancellation);

    /// <summary>The same with another time limit; <see cref="Timeout.InfiniteTimeSpan"/>: as long as the kernel tries.</summary>
    /// <inheritdoc cref="ConnectAsync(EndPoint, ConnectionHandler, CancellationToken)"/>
    public Task ConnectAsync(
        EndPoint endPoint, ConnectionHandler handler, TimeSpan timeout, CancellationToken cancellation = default)
    {
        TimeLimit.Require(timeout);
        return ConnectAsync(endPoint, handler, ConnectSettings.Of(Limits) with { Timeout = timeout }, cancellation);
    }

    /// <summary>
    /// Waits, as <see cref="Task.Delay(TimeSpan)"/> does, but continues in the reactor's loop and allocates nothing; it completes up to 8
    /// ms late. Await it once. Reactor thread.
    /// </summary>
    /// <param name="time">How long; <see cref="Timeout.InfiniteTimeSpan"/>: until cancelled.</param>
    /// <param name="cancellation">Ends it early.</param>
    /// <exception cref="OperationCanceledException">It was cancelled, or the reactor reached its drain deadline.</exception>
    /// <exception cref="InvalidOperationException">The caller is not on the reactor's thread.</exception>
    public ValueTask Delay(TimeSpan time, CancellationToken cancellation = default)
    {
        AssertReactorThread();
        TimeLimit.Require(time);
        DelayOperation delay = _spareDelays.TryPop(out DelayOperation? spare) ? spare : new DelayOperation(this);
        return delay.Begin(TimeLimit.After(ClockMs, time), cancellation);
    }

    /// <summary>
    /// Reads from a file as an operation on the reactor's ring, without a thread that waits for the disk. Returns the number of bytes read:
    /// fewer than requested only before the end of the file, 0 at the end. The kernel owns the memory until completion, also after a
    /// cancellation. Await it once; allocates nothing. Reactor thread.
    /// </summary>
    /// <param name="file">Kept open while it is read.</param>
    /// <param name="destination">Where the bytes go.</param>
    /// <param name="offset">The position in the file.</param>
    /// <param name="cancellation">Cancels the read, unless the disk has begun it.</param>
    /// <exception cref="IOException">The file cannot be read; its HResult is the error number.</exception>
    /// <exception cref="ObjectDisposedException">The file is closed.</exception>
    /// <exception cref="OperationCanceledException">It was cancelled, or the reactor stops.</exception>
    /// <exception cref="InvalidOperationException">The caller is not on the reactor's thread.</exception>
    public ValueTask<int> ReadFileAsync(
        SafeFileHandle file, Memory<byte> destination, long offset, CancellationToken cancellation = default)
    {
        AssertReactorThread();
        ArgumentNullException.ThrowIfNull(file);
        ArgumentOutOfRangeException.ThrowIfNegative(offset);
        return NextRead().Begin(file, destination, offset, cancellation);
    }

    /// <summary>The same by descriptor into native memory. The caller owns both and keeps them until the read has ended.</summary>
    internal unsafe ValueTask<int> ReadDescriptorAsync(int file, byte* destination, int bytes, long offset)
    {
        AssertReactorThread();
        return NextRead().Begin(file, destination, bytes, offset);
    }

    internal async Task ConnectAsync(
        EndPoint endPoint, ConnectionHandler handler, ConnectSettings settings, CancellationToken cancellation)
    {
        AssertReactorThread();
        ArgumentNullException.ThrowIfNull(endPoint);
        ArgumentNullException.ThrowIfNull(handler);
        var context = new ListenerContext(endPoint, handler, filters: null) { IsOneAddress = false, TakesPages = false };
        int socket = ConnectSocket.Open(endPoint, settings);
        socket = await CreateAttempt(socket, endPoint, settings.Timeout).Begin(cancellation);
        Connections.Rent().Open(socket, context, handler, new ConnectionLease(AdmissionResult.Outbound, null), Accounts.OpenOutbound());
    }

    /// <summary>Keeps a finished operation for reuse, unless its result was read on another thread.</summary>
    internal void KeepSpare(DelayOperation delay) => Keep(_spareDelays, delay);

    /// <inheritdoc cref="KeepSpare(DelayOperation)"/>
    internal void KeepSpare(FileReadOperation read) => Keep(_spareReads, read);

    /// <summary>Creates the attempt, which owns the socket and closes it on failure; closes the socket if that throws.</summary>
    private ConnectOperation CreateAttempt(int socket, EndPoint endPoint, TimeSpan timeout)
    {
        try
        {
            return new ConnectOperation(this, endPoint, socket, timeout);
        }
        catch
        {
            Backend.CloseSocket(socket);
            throw;
        }
    }

    private FileReadOperation NextRead() => _spareReads.TryPop(out FileReadOperation? spare) ? spare : new FileReadOperation(this);

    private void Keep<T>(Stack<T> spares, T spare)
    {
        if (IsReactorThread && spares.Count < SparesKept)
        {
            spares.Push(spare);
        }
    }
}

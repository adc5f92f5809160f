using Millrace.AspNetCore.Transport;

namespace Millrace.AspNetCore;

/// <summary>What can differ between the addresses of a server. The defaults are those of the sockets transport.</summary>
public class MillraceEndPointOptions
{
    private const string FinOnErrorSwitch = "Microsoft.AspNetCore.Server.Kestrel.FinOnError";

    /// <summary>Connections that the kernel queues before they are accepted; it cuts the number to <c>net.core.somaxconn</c>.</summary>
    /// <remarks>Defaults to 512, for each reactor's own socket.</remarks>
    public int Backlog { get; set; } = 512;

    /// <summary>Whether small pieces are sent at once instead of being gathered by the kernel (TCP_NODELAY). TCP only.</summary>
    /// <remarks>Defaults to true.</remarks>
    public bool NoDelay { get; set; } = true;

    /// <summary>
    /// Bytes received that the application has not consumed, from which on a connection receives no more, until half of them are. Null or
    /// 0: no bound.
    /// </summary>
    /// <remarks>Defaults to 1 MiB.</remarks>
    public long? MaxReadBufferSize { get; set; } = 1024 * 1024;

    /// <summary>
    /// Bytes written and not yet taken by the kernel, from which on a flush waits, until half of them are. Null or 0: no bound.
    /// </summary>
    /// <remarks>Defaults to 64 KiB.</remarks>
    public long? MaxWriteBufferSize { get; set; } = 64 * 1024;

    /// <summary>Where the application's code runs.</summary>
    /// <remarks>Defaults to <see cref="TransportScheduling.Inline"/>.</remarks>
    public TransportScheduling Scheduling { get; set; }

    /// <summary>
    /// Whether a handler goes on on its reactor behind each of its awaits, timers and tasks included, by a
    /// <see cref="SynchronizationContext"/>: not where it said <c>ConfigureAwait(false)</c>, nor once it has left by
    /// <c>LeaveReactor</c>. A handler that blocks on an async method of its own then waits for what only its own thread could do; the watch
    /// ends that with the help of the thread pool, some 100 ms later (<see cref="MillraceTransportOptions.WatchForStalls"/>). With
    /// <see cref="TransportScheduling.Inline"/> only.
    /// </summary>
    /// <remarks>Defaults to false: a handler that awaits something foreign comes home with its connection's next read.</remarks>
    public bool UseSynchronizationContext { get; set; }

    /// <summary>
    /// Whether an aborted connection ends with a FIN instead of a reset: its peer cannot tell a cut answer from a whole one.
    /// </summary>
    /// <remarks>Defaults to what the AppContext switch <c>Microsoft.AspNetCore.Server.Kestrel.FinOnError</c> says, else false.</remarks>
    public bool FinOnError { get; set; } = AppContext.TryGetSwitch(FinOnErrorSwitch, out bool isOn) && isOn;

    internal void Validate()
    {
        ArgumentOutOfRangeException.ThrowIfNegativeOrZero(Backlog);
        ArgumentOutOfRangeException.ThrowIfNegative(MaxReadBufferSize ?? 0, nameof(MaxReadBufferSize));
        ArgumentOutOfRangeException.ThrowIfNegative(MaxWriteBufferSize ?? 0, nameof(MaxWriteBufferSize));
        if (!Enum.IsDefined(Scheduling))
        {
            throw new ArgumentOutOfRangeException(nameof(Scheduling), Scheduling, "There is no such scheduling.");
        }
    }

    internal EndPointSettings ToSettings()
    {
        Validate();
        return new EndPointSettings(
            Backlog, NoDelay, MaxReadBufferSize ?? 0, MaxWriteBufferSize ?? 0, Scheduling, UseSynchronizationContext, FinOnError);
    }
}

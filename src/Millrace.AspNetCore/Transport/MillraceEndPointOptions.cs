namespace Millrace.AspNetCore;

/// <summary>Transport options that can differ between endpoints of a server. The defaults are those of the sockets transport.</summary>
public class MillraceEndPointOptions
{
    private const string FinOnErrorSwitch = "Microsoft.AspNetCore.Server.Kestrel.FinOnError";

    /// <summary>
    /// Connections that the kernel queues before they are accepted; the kernel limits the number to <c>net.core.somaxconn</c>.
    /// </summary>
    /// <remarks>Defaults to 512, for each reactor's own socket.</remarks>
    public int Backlog { get; set; } = 512;

    /// <summary>Whether small writes are sent at once instead of being combined by the kernel (TCP_NODELAY). TCP only.</summary>
    /// <remarks>Defaults to true.</remarks>
    public bool NoDelay { get; set; } = true;

    /// <summary>
    /// Received bytes that the application has not consumed, above which a connection stops receiving until half of them are consumed. Null
    /// or 0: no limit.
    /// </summary>
    /// <remarks>Defaults to 1 MiB.</remarks>
    public long? MaxReadBufferSize { get; set; } = 1024 * 1024;

    /// <summary>
    /// Bytes written but not yet accepted by the kernel, above which a flush waits until half of them are. Null or 0: no limit.
    /// </summary>
    /// <remarks>Defaults to 64 KiB.</remarks>
    public long? MaxWriteBufferSize { get; set; } = 64 * 1024;

    /// <summary>Where application code runs.</summary>
    /// <remarks>Defaults to <see cref="TransportScheduling.Inline"/>.</remarks>
    public TransportScheduling Scheduling { get; set; }

    /// <summary>
    /// Whether a handler resumes on its reactor after each of its awaits, including timers and tasks, through a
    /// <see cref="SynchronizationContext"/>. It does not after <c>ConfigureAwait(false)</c> or <c>LeaveReactor</c>. A handler that blocks
    /// on an async method of its own then waits for a continuation that only its own thread could run; the watchdog resolves that on the
    /// thread pool some 100 ms later (<see cref="MillraceTransportOptions.WatchForStalls"/>). A request whose body is incomplete stays on
    /// its reactor too, and is reset there if it blocks for the body, unless the server sets <c>AllowSynchronousIO</c>. With
    /// <see cref="TransportScheduling.Inline"/> only.
    /// </summary>
    /// <remarks>Defaults to false: a handler that awaits something else returns to the reactor with its connection's next read.</remarks>
    public bool UseSynchronizationContext { get; set; }

    /// <summary>
    /// Whether an aborted connection ends with a FIN instead of a reset: its peer then cannot tell a truncated response from a complete
    /// one.
    /// </summary>
    /// <remarks>Defaults to the AppContext switch <c>Microsoft.AspNetCore.Server.Kestrel.FinOnError</c>, else false.</remarks>
    public bool FinOnError { get; set; } = AppContext.TryGetSwitch(FinOnErrorSwitch, out bool isOn) && isOn;

    internal void Validate()
    {
        ArgumentOutOfRangeException.ThrowIfNegativeOrZero(Backlog);
        ArgumentOutOfRangeException.ThrowIfNegative(MaxReadBufferSize ?? 0, nameof(MaxReadBufferSize));
        ArgumentOutOfRangeException.ThrowIfNegative(MaxWriteBufferSize ?? 0, nameof(MaxWriteBufferSize));
        if (!Enum.IsDefined(Scheduling))
        {
            throw new ArgumentOutOfRangeException(nameof(Scheduling), Scheduling, "The value is not defined in TransportScheduling.");
        }
    }

    /// <summary>A copy that the application does not have.</summary>
    internal MillraceEndPointOptions Copy() => (MillraceEndPointOptions)MemberwiseClone();
}

/// <summary>Where application code runs when bytes have arrived for it.</summary>
public enum TransportScheduling
{
    /// <summary>
    /// Inline on the reactor's thread: no queue, no wake-up, no change of core. Like <c>UnsafePreferInlineScheduling</c> of the sockets
    /// transport, it is unsafe for code that blocks: a synchronous wait stalls every connection of its reactor. Requests that might wait
    /// for their bodies leave the reactor, and the watchdog detects others that block
    /// (<see cref="MillraceTransportOptions.WatchForStalls"/>). For applications that do not block.
    /// </summary>
    Inline,

    /// <summary>
    /// On the thread pool, as with the sockets transport. The reactor receives, and sends what the socket had no room for.
    /// </summary>
    ThreadPool,
}

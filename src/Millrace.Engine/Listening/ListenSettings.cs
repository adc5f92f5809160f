using Millrace.Engine.Backends;
using Millrace.Engine.Proxies;

namespace Millrace.Engine.Listening;

/// <summary>What one listener is told besides its address.</summary>
/// <param name="Backlog">Connections that the kernel queues before they are accepted.</param>
/// <param name="NoDelay">Whether small pieces are sent at once (TCP_NODELAY).</param>
/// <param name="KernelUnsentBytes">See <see cref="Limits.KernelUnsentBytes"/>.</param>
internal sealed record ListenSettings(int Backlog, bool NoDelay, int KernelUnsentBytes)
{
    /// <summary>Where connections come by proxies, who say whose they are; null where they come as they are.</summary>
    public ProxyGate? Proxies { get; init; }

    /// <summary>What may be done with the file of a unix socket; null for what the process's umask leaves.</summary>
    public UnixFileMode? SocketMode { get; init; }

    /// <summary>Whether another listener of this process is known to have the port, for some of its addresses or for more.</summary>
    public bool SharesPort { get; init; }

    /// <inheritdoc cref="EngineOptions.CongestionControl"/>
    public string? CongestionControl { get; init; }

    /// <inheritdoc cref="EngineOptions.BusyPolling"/>
    public BusyPoll BusyPoll { get; init; }

    public static ListenSettings Of(EngineOptions options) => Of(options.Limits) with
    {
        CongestionControl = options.CongestionControl,
        BusyPoll = options.BusyPoll,
    };

    public static ListenSettings Of(Limits limits) => new(limits.Backlog, NoDelay: true, limits.KernelUnsentBytes);
}

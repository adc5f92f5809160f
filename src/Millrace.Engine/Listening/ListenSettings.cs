using Millrace.Engine.Filters;

namespace Millrace.Engine.Listening;

/// <summary>The settings of one listener besides its address.</summary>
/// <param name="Backlog">Connections that the kernel queues before they are accepted.</param>
/// <param name="NoDelay">Whether small pieces are sent at once (TCP_NODELAY).</param>
/// <param name="KernelUnsentBytes">See <see cref="Limits.KernelUnsentBytes"/>.</param>
internal sealed record ListenSettings(int Backlog, bool NoDelay, int KernelUnsentBytes)
{
    /// <summary>Set where connections arrive through proxies that announce the client; null otherwise.</summary>
    public ProxyPolicy? Proxies { get; init; }

    /// <summary>The mode of a unix socket's file; null for what the process's umask leaves.</summary>
    public UnixFileMode? SocketMode { get; init; }

    /// <summary>Whether another listener of this process is known to use the port, on overlapping addresses.</summary>
    public bool SharesPort { get; init; }

    /// <inheritdoc cref="EngineOptions.CongestionControl"/>
    public string? CongestionControl { get; init; }

    public static ListenSettings Of(EngineOptions options) =>
        Of(options.Limits) with { CongestionControl = options.CongestionControl };

    public static ListenSettings Of(Limits limits) => new(limits.Backlog, NoDelay: true, limits.KernelUnsentBytes);
}

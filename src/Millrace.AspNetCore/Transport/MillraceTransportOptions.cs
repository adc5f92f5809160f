using System.Net;
using Millrace.Engine;

namespace Millrace.AspNetCore;

/// <summary>
/// Options of the Millrace transport, set by <c>UseMillrace</c> and by the <c>Millrace</c> section of the application's configuration,
/// whose keys are the names of these options. Options inherited from <see cref="MillraceEndPointOptions"/> are the defaults of every
/// endpoint.
/// </summary>
public sealed class MillraceTransportOptions : MillraceEndPointOptions
{
    /// <summary>Reactor threads, shared by all endpoints. 0: one per core that this process may use, including a cgroup's limit.</summary>
    public int ReactorCount { get; set; }

    /// <summary>
    /// The I/O backend. If <see cref="BackendKind.IoUring"/> is not available, endpoints fall back to the sockets transport, with a
    /// warning; <see cref="BackendKind.Auto"/> uses epoll then.
    /// </summary>
    public BackendKind Backend { get; set; } = BackendKind.Auto;

    /// <summary>
    /// Whether a watchdog thread detects application code that blocks a reactor. It counts and logs the code with its endpoint, sends the
    /// reactor's new connections to other reactors meanwhile, and runs its application's continuations on the thread pool. Requests that
    /// might wait for their bodies leave the reactor before they run. As a last resort, the watchdog resets the connection of a handler
    /// that blocks its reactor on a read or a write that only this reactor could complete: soon where the wait began in the blocked
    /// callback, and after five seconds where it began before, as other code may be waiting. Endpoints that block their reactors for a
    /// tenth of the time in total, however short each wait is, run on the thread pool from then on, as if marked with
    /// <see cref="RunOffReactorAttribute"/>, until they have not blocked for a minute, or for longer after a relapse.
    /// </summary>
    /// <remarks>Defaults to true.</remarks>
    public bool WatchForStalls { get; set; } = true;

    /// <summary>
    /// A reactor group to share with others, whose reactors, backend and limits then apply. Its creator stops it, after the server. Null: a
    /// group of the server's own, started with its first endpoint and stopped with the server.
    /// </summary>
    public ReactorGroup? ReactorGroup { get; set; }

    /// <summary>
    /// Called when an endpoint is bound, with the endpoint and a copy of the defaults to change for it. Runs before the
    /// <c>ConfigureMillrace</c> of its <c>ListenOptions</c>:
    /// <code>
    /// options.ConfigureEndPoint = (endPoint, own) =>
    /// {
    ///     if (endPoint is IPEndPoint { Port: 5001 })
    ///     {
    ///         own.Scheduling = TransportScheduling.ThreadPool;
    ///     }
    /// };
    /// </code>
    /// </summary>
    public Action<EndPoint, MillraceEndPointOptions>? ConfigureEndPoint { get; set; }

    /// <exception cref="ArgumentOutOfRangeException">A transport-wide value is out of range.</exception>
    internal void ValidateOwn()
    {
        ArgumentOutOfRangeException.ThrowIfNegative(ReactorCount);
        ArgumentOutOfRangeException.ThrowIfGreaterThan(ReactorCount, EngineOptions.ReactorsMax);
        EngineOptions.RequireBackend(Backend, nameof(Backend));
    }

    /// <summary>The options of one endpoint: the defaults with the callbacks' changes.</summary>
    /// <param name="endPoint">The endpoint.</param>
    /// <param name="configure">The <c>ConfigureMillrace</c> of its <c>ListenOptions</c>.</param>
    /// <exception cref="ArgumentOutOfRangeException">A value is out of range.</exception>
    internal MillraceEndPointOptions For(EndPoint endPoint, Action<MillraceEndPointOptions>? configure)
    {
        MillraceEndPointOptions own = Copy();
        ConfigureEndPoint?.Invoke(endPoint, own);
        configure?.Invoke(own);
        own.Validate();
        return own.Copy();
    }
}

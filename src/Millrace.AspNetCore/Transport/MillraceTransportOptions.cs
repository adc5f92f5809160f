using System.Net;
using Millrace.Engine;

namespace Millrace.AspNetCore;

/// <summary>
/// What the Millrace transport can be told. What it inherits from <see cref="MillraceEndPointOptions"/> is the default of every address.
/// </summary>
public sealed class MillraceTransportOptions : MillraceEndPointOptions
{
    /// <summary>Reactor threads that all addresses share. 0: the cores this process may use, a cgroup's limit respected.</summary>
    public int ReactorCount { get; set; }

    /// <summary>
    /// How the kernel is asked. Where <see cref="BackendKind.IoUring"/> is asked for and refused, addresses are left to the sockets
    /// transport, with a warning; <see cref="BackendKind.Auto"/> has reactors over epoll there.
    /// </summary>
    public BackendKind Backend { get; set; } = BackendKind.Auto;

    /// <summary>
    /// Whether a thread watches for application code that blocks a reactor: it counts it, logs it with its endpoint, has other reactors
    /// take that reactor's new connections meanwhile and the thread pool its application's continuations, and resets the connection of a
    /// handler that blocks its reactor on a read or a write that only this reactor could end: soon where that began in the callback which
    /// is blocked, and after five seconds where it was under way before, as somebody else may be at it.
    /// </summary>
    /// <remarks>Defaults to true.</remarks>
    public bool WatchForStalls { get; set; } = true;

    /// <summary>
    /// A group to share with others, whose reactors, backend and limits then hold here too. It is stopped by whoever started it, after the
    /// server. Null: one of the server's own, started with its first address and stopped with it.
    /// </summary>
    public ReactorGroup? ReactorGroup { get; set; }

    /// <summary>
    /// Called when an address is bound, with the address and a copy of the defaults, to be changed for this address:
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

    internal MillraceEndPointOptions For(EndPoint endPoint)
    {
        var own = new MillraceEndPointOptions
        {
            Backlog = Backlog,
            NoDelay = NoDelay,
            MaxReadBufferSize = MaxReadBufferSize,
            MaxWriteBufferSize = MaxWriteBufferSize,
            Scheduling = Scheduling,
            UseSynchronizationContext = UseSynchronizationContext,
            FinOnError = FinOnError,
        };
        ConfigureEndPoint?.Invoke(endPoint, own);
        return own;
    }
}

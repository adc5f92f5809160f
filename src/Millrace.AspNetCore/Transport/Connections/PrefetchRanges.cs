using Millrace.Engine.Connections;

namespace Millrace.AspNetCore.Transport.Connections;

/// <summary>
/// What the reactor prefetches of a connection's objects (ADR 0009): sizes on .NET 10 and 64 bits, of an object and of those that are
/// created beside it. A wrong size costs some cache lines.
/// </summary>
internal static class PrefetchRanges
{
    public static readonly PrefetchRange Connection = new(After: 168);
    public static readonly PrefetchRange Ending = new(After: 88);

    /// <summary>Both pumps and the callbacks.</summary>
    public static readonly PrefetchRange Pumps = new(After: 368);

    /// <summary>The tasks of the loops, which hold their variables.</summary>
    public static readonly PrefetchRange ReceiveLoop = new(After: 120);
    public static readonly PrefetchRange SendLoop = new(After: 240);

    /// <summary>The pipe, the scheduler and options allocated before it, and its two ends.</summary>
    public static readonly PrefetchRange FirstPipe = new(After: 424, Before: 192);
    public static readonly PrefetchRange SecondPipe = new(After: 424);

    /// <summary>The application's reader and writer.</summary>
    public static readonly PrefetchRange Ends = new(After: 320);

    /// <summary>Kestrel's task that reads requests.</summary>
    public static readonly PrefetchRange RequestLoop = new(After: 184);

    /// <summary>Kestrel's context, its timeouts, and the object that serves its requests.</summary>
    public static readonly PrefetchRange Http1Connection = new(After: 832, Before: 464);
    public static readonly PrefetchRange RequestHeaders = new(After: 480);

    /// <summary>Includes the object that writes the response.</summary>
    public static readonly PrefetchRange ResponseHeaders = new(After: 872);

    /// <summary>The host's own context, the HTTP context, the request and the response.</summary>
    public static readonly PrefetchRange HttpContext = new(After: 288, Before: 72);

    /// <summary>Includes the other streams and pipes of bodies.</summary>
    public static readonly PrefetchRange ResponseBody = new(After: 32, Before: 336);
}

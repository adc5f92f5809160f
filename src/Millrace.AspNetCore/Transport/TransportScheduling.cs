namespace Millrace.AspNetCore;

/// <summary>Where the application's code runs when bytes have come for it.</summary>
public enum TransportScheduling
{
    /// <summary>
    /// On the reactor's thread, at once: no queue, no wake, no change of core. For applications that do not block: code that waits for
    /// something synchronously holds up every connection of its reactor.
    /// </summary>
    Inline,

    /// <summary>
    /// On the thread pool, as with the sockets transport. The reactor brings what is received, and sends what a socket had no room for.
    /// </summary>
    ThreadPool,
}

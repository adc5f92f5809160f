using Millrace.Engine;
using Millrace.Web;

namespace Millrace.Server;

/// <summary>The bounds of a server: the engine's, the sessions', and its own.</summary>
internal sealed record ServeLimits
{
    public Limits Engine { get; init; } = new();

    public WebLimits Web { get; init; } = new();

    /// <summary>
    /// How long requests that were under way when the server is stopped get to finish: less than the 30 s after which Kubernetes kills.
    /// </summary>
    public TimeSpan Drain { get; init; } = TimeSpan.FromSeconds(20);
}

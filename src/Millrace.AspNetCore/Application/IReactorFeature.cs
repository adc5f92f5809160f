using Millrace.Engine;

namespace Millrace.AspNetCore;

/// <summary>A feature of Millrace's connections, and of the requests on them.</summary>
public interface IReactorFeature
{
    /// <summary>The reactor that the connection belongs to. Any thread.</summary>
    Reactor Reactor { get; }
}

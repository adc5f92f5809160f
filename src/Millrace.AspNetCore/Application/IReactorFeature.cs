using Millrace.Engine;

namespace Millrace.AspNetCore;

/// <summary>A feature of connections, and of requests that came over them, where Millrace is the transport.</summary>
public interface IReactorFeature
{
    /// <summary>The reactor that the connection belongs to. Any thread.</summary>
    Reactor Reactor { get; }
}

namespace Millrace.AspNetCore;

/// <summary>
/// Runs the requests of an endpoint on the thread pool, where code may block. For an action, a controller, a hub or a minimal API handler;
/// other endpoints use <c>RunOffReactor()</c>. Without Millrace it has no effect.
/// </summary>
[AttributeUsage(AttributeTargets.Class | AttributeTargets.Method, AllowMultiple = false, Inherited = true)]
public sealed class RunOffReactorAttribute : Attribute;

namespace Millrace.AspNetCore;

/// <summary>
/// Has the requests of an endpoint run on the thread pool, where code may block. On an action, a controller, a hub or a handler of a
/// minimal API; endpoints in general have <c>RunOffReactor()</c>. Without Millrace it does nothing.
/// </summary>
[AttributeUsage(AttributeTargets.Class | AttributeTargets.Method, AllowMultiple = false, Inherited = true)]
public sealed class RunOffReactorAttribute : Attribute;

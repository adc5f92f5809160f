namespace Millrace.Engine.Watching;

/// <summary>A look at a thread: whether it wants a processor, and how long it has had one since it began.</summary>
internal readonly record struct ThreadSight(bool IsRunnable, long RanMs);

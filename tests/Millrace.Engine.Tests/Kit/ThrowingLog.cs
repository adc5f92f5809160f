using System.Collections.Concurrent;
using Microsoft.Extensions.Logging;

namespace Millrace.Engine.Tests.Kit;

/// <summary>A provider that fails, as Microsoft.Extensions.Logging hands that on, for every line from a level on; it keeps their ids.</summary>
internal sealed class ThrowingLog(LogLevel from) : ILoggerFactory, ILogger
{
    public ConcurrentQueue<int> Asked { get; } = new();

    private static AggregateException Failure => new(new IOException("No space left on device"));

    public void Log<TState>(
        LogLevel logLevel, EventId eventId, TState state, Exception? exception, Func<TState, Exception?, string> formatter)
    {
        Asked.Enqueue(eventId.Id);
        if (logLevel >= from)
        {
            throw Failure;
        }
    }

    public ILogger CreateLogger(string categoryName) => this;

    public bool IsEnabled(LogLevel logLevel) => logLevel < from ? true : throw Failure;

    public IDisposable? BeginScope<TState>(TState state)
        where TState : notnull => null;

    public void AddProvider(ILoggerProvider provider)
    {
    }

    public void Dispose()
    {
    }
}

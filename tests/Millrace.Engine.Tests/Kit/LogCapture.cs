using System.Collections.Concurrent;
using Microsoft.Extensions.Logging;

namespace Millrace.Engine.Tests.Kit;

/// <summary>Keeps what the engine logs.</summary>
internal sealed class LogCapture : ILoggerFactory, ILogger
{
    public ConcurrentQueue<(int Id, string Text, Exception? Error)> Entries { get; } = new();

    public int Count(int id) => Entries.Count(entry => entry.Id == id);

    public void Log<TState>(
        LogLevel logLevel, EventId eventId, TState state, Exception? exception, Func<TState, Exception?, string> formatter) =>
        Entries.Enqueue((eventId.Id, formatter(state, exception), exception));

    public ILogger CreateLogger(string categoryName) => this;

    public bool IsEnabled(LogLevel logLevel) => true;

    public IDisposable? BeginScope<TState>(TState state)
        where TState : notnull => null;

    public void AddProvider(ILoggerProvider provider)
    {
    }

    public void Dispose()
    {
    }
}

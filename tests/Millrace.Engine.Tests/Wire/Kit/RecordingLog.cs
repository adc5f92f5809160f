using System.Collections.Concurrent;
using Microsoft.Extensions.Logging;

namespace Millrace.Engine.Tests.Wire.Kit;

internal sealed record LogLine(EventId Id, LogLevel Level, string Text, Exception? Error);

/// <summary>Keeps what the engine logs.</summary>
internal sealed class RecordingLog : ILoggerFactory, ILogger
{
    private readonly ConcurrentQueue<LogLine> _lines = new();

    public IReadOnlyList<LogLine> Failures => Of(300);

    public IReadOnlyList<LogLine> Of(int id) => [.. _lines.Where(line => line.Id.Id == id)];

    public ILogger CreateLogger(string categoryName) => this;

    public bool IsEnabled(LogLevel logLevel) => true;

    public IDisposable? BeginScope<TState>(TState state)
        where TState : notnull => null;

    public void Log<TState>(
        LogLevel logLevel, EventId eventId, TState state, Exception? exception, Func<TState, Exception?, string> formatter) =>
        _lines.Enqueue(new LogLine(eventId, logLevel, formatter(state, exception), exception));

    public void AddProvider(ILoggerProvider provider) => throw new NotSupportedException();

    public void Dispose()
    {
        // Nothing is held.
    }
}

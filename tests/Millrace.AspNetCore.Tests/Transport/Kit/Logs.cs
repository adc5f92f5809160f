using System.Collections.Concurrent;
using Microsoft.Extensions.Logging;

namespace Millrace.AspNetCore.Tests.Transport.Kit;

/// <summary>Keeps what is logged, and throws it back where a test says so.</summary>
internal sealed class Logs : ILoggerFactory, ILogger
{
    public ConcurrentQueue<(LogLevel Level, EventId Event, string Text)> Entries { get; } = new();

    public bool Throws { get; set; }

    public IEnumerable<string?> Names => Entries.Select(static entry => entry.Event.Name);

    public void Log<TState>(
        LogLevel logLevel, EventId eventId, TState state, Exception? exception, Func<TState, Exception?, string> formatter)
    {
        Entries.Enqueue((logLevel, eventId, formatter(state, exception)));
        if (Throws)
        {
            throw new AggregateException(new IOException("No space left on device"));
        }
    }

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

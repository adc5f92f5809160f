using System.Collections.Concurrent;
using Microsoft.Extensions.Logging;

namespace Millrace.StaticFiles.Tests.Watching;

/// <summary>Keeps what is logged.</summary>
internal sealed class RecordingLog : ILogger, ILoggerFactory
{
    public ConcurrentQueue<(int Id, string Text)> Entries { get; } = new();

    /// <summary>The lines with an event id.</summary>
    public IEnumerable<string> Lines(int id) => Entries.Where(entry => entry.Id == id).Select(entry => entry.Text);

    public void Log<TState>(
        LogLevel logLevel, EventId eventId, TState state, Exception? exception, Func<TState, Exception?, string> formatter) =>
        Entries.Enqueue((eventId.Id, formatter(state, exception)));

    public bool IsEnabled(LogLevel logLevel) => true;

    public IDisposable? BeginScope<TState>(TState state)
        where TState : notnull => null;

    public ILogger CreateLogger(string categoryName) => this;

    public void AddProvider(ILoggerProvider provider)
    {
    }

    public void Dispose()
    {
    }
}

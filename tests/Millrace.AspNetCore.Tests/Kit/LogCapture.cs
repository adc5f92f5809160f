using System.Collections.Concurrent;
using Microsoft.Extensions.Logging;

namespace Millrace.AspNetCore.Tests.Kit;

/// <summary>One line of a log.</summary>
internal sealed record LogEntry(string Category, LogLevel Level, EventId Event, string Text, Exception? Error)
{
    /// <summary>Said by Kestrel or by a transport, and not by the host, which announces addresses.</summary>
    public bool IsOfServer =>
        Category.StartsWith("Microsoft.AspNetCore.Server.Kestrel", StringComparison.Ordinal)
        || Category.StartsWith("Millrace", StringComparison.Ordinal);

    public override string ToString() => $"{Level} {Category} {Event.Id} {Event.Name}: {Text} {Error}";
}

/// <summary>Keeps everything that an application logs.</summary>
internal sealed class LogCapture : ILoggerProvider
{
    public ConcurrentQueue<LogEntry> Entries { get; } = new();

    /// <summary>
    /// What an operator would be shown beyond that the server serves: a peer that goes away must not be among it. That a reactor is stalled is the machine's doing where
    /// no handler blocks: a first request on a busy one takes that long.
    /// </summary>
    public IEnumerable<LogEntry> AboveDebug => Entries.Where(
        static entry => entry is { IsOfServer: true, Level: > LogLevel.Debug, Event.Name: not ("Serving" or "Stalled" or "StallEnded") });

    public bool Has(string name) => Entries.Any(entry => entry.Event.Name == name);

    /// <summary>Waits for an event of that name and returns it.</summary>
    public async Task<LogEntry> ExpectAsync(string name)
    {
        await Waiting.UntilAsync(() => Has(name), () => $"{name} was never logged. Logged was:\n{this}");
        return Entries.First(entry => entry.Event.Name == name);
    }

    public ILogger CreateLogger(string categoryName) => new Category(categoryName, Entries);

    public void Dispose()
    {
    }

    public override string ToString() => string.Join('\n', Entries);

    private sealed class Category(string name, ConcurrentQueue<LogEntry> entries) : ILogger
    {
        public void Log<TState>(
            LogLevel logLevel, EventId eventId, TState state, Exception? exception, Func<TState, Exception?, string> formatter) =>
            entries.Enqueue(new LogEntry(name, logLevel, eventId, formatter(state, exception), exception));

        public bool IsEnabled(LogLevel logLevel) => true;

        public IDisposable? BeginScope<TState>(TState state)
            where TState : notnull => null;
    }
}

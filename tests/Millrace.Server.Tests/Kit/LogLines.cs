using Microsoft.Extensions.Logging;

namespace Millrace.Server.Tests.Kit;

/// <summary>Keeps the messages of a log, each with its level. One thread.</summary>
internal sealed class LogLines : ILogger
{
    private readonly List<string> _lines = [];

    /// <summary>The lines since the previous call.</summary>
    public IReadOnlyList<string> Take()
    {
        string[] taken = [.. _lines];
        _lines.Clear();
        return taken;
    }

    public IDisposable? BeginScope<TState>(TState state)
        where TState : notnull => null;

    public bool IsEnabled(LogLevel logLevel) => true;

    public void Log<TState>(
        LogLevel logLevel, EventId eventId, TState state, Exception? exception, Func<TState, Exception?, string> formatter) =>
        _lines.Add($"{logLevel}: {formatter(state, exception)}");
}

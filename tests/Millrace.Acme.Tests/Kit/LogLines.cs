using System.Collections.Concurrent;
using Microsoft.Extensions.Logging;

namespace Millrace.Acme.Tests.Kit;

/// <summary>Keeps what is logged, a line for each message. Any thread.</summary>
internal sealed class LogLines : ILogger
{
    public ConcurrentQueue<string> Lines { get; } = [];

    public IDisposable? BeginScope<TState>(TState state)
        where TState : notnull => null;

    public bool IsEnabled(LogLevel logLevel) => true;

    public void Log<TState>(
        LogLevel logLevel, EventId eventId, TState state, Exception? exception, Func<TState, Exception?, string> formatter) =>
        Lines.Enqueue($"{logLevel}: {formatter(state, exception)}");
}

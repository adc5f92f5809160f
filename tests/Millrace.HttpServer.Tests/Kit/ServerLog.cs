using System.Collections.Concurrent;
using Microsoft.Extensions.Logging;

namespace Millrace.HttpServer.Tests.Kit;

/// <summary>
/// Keeps the warnings of the engine: a handler that failed is a bug, even where the client saw nothing of it. That a reactor is stalled
/// is the machine's doing here, where no handler blocks; an archive is cut, and a coded file refused, where a test changes its files.
/// </summary>
internal sealed class ServerLog : ILoggerFactory, ILogger
{
    public ConcurrentQueue<string> Warnings { get; } = new();

    public ILogger CreateLogger(string categoryName) => this;

    public void AddProvider(ILoggerProvider provider) => throw new NotSupportedException();

    public IDisposable? BeginScope<TState>(TState state)
        where TState : notnull => null;

    public bool IsEnabled(LogLevel logLevel) => logLevel >= LogLevel.Warning;

    public void Log<TState>(
        LogLevel logLevel, EventId eventId, TState state, Exception? exception, Func<TState, Exception?, string> formatter)
    {
        if (IsEnabled(logLevel) && eventId.Name is not ("Stalled" or "ArchiveCut" or "SiblingRefused" or "MoreSiblingsRefused"))
        {
            Warnings.Enqueue($"{formatter(state, exception)} {exception}");
        }
    }

    public void Dispose()
    {
    }
}

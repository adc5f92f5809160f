using Microsoft.Extensions.Logging;

namespace Millrace.Server.Terminal;

/// <summary>
/// Loggers that pass errors on and nothing else, for a part whose other lines another part logs in the same words. The factory below stays
/// its owner's; any thread.
/// </summary>
internal sealed class ErrorLoggerFactory(ILoggerFactory below) : ILoggerFactory
{
    public ILogger CreateLogger(string categoryName) => new ErrorLogger(below.CreateLogger(categoryName));

    public void AddProvider(ILoggerProvider provider) => below.AddProvider(provider);

    public void Dispose()
    {
        // Nothing is owned.
    }

    private sealed class ErrorLogger(ILogger below) : ILogger
    {
        public IDisposable? BeginScope<TState>(TState state)
            where TState : notnull => below.BeginScope(state);

        public bool IsEnabled(LogLevel logLevel) => logLevel >= LogLevel.Error && below.IsEnabled(logLevel);

        public void Log<TState>(
            LogLevel logLevel, EventId eventId, TState state, Exception? exception, Func<TState, Exception?, string> formatter)
        {
            if (IsEnabled(logLevel))
            {
                below.Log(logLevel, eventId, state, exception, formatter);
            }
        }
    }
}

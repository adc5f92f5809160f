using Microsoft.Extensions.Logging;

namespace Millrace.Engine;

/// <summary>
/// A logger that never throws, for reactors. Providers belong to the application, and Microsoft.Extensions.Logging rethrows what they throw
/// (a full disk, a lost collector) as an AggregateException: on a reactor's thread that would end the process. A line that fails is lost.
/// Any thread.
/// </summary>
internal sealed class NonThrowingLogger(ILogger logger) : ILogger
{
    public void Log<TState>(
        LogLevel logLevel, EventId eventId, TState state, Exception? exception, Func<TState, Exception?, string> formatter)
    {
        try
        {
            logger.Log(logLevel, eventId, state, exception, formatter);
        }
#pragma warning disable CA1031 // See above: a failed log line must not end the reactor.
        catch (Exception)
#pragma warning restore CA1031
        {
            // The line is lost.
        }
    }

    /// <summary>A provider that throws is treated as enabled.</summary>
    public bool IsEnabled(LogLevel logLevel)
    {
        try
        {
            return logger.IsEnabled(logLevel);
        }
#pragma warning disable CA1031 // As above.
        catch (Exception)
#pragma warning restore CA1031
        {
            return true;
        }
    }

    public IDisposable? BeginScope<TState>(TState state)
        where TState : notnull => logger.BeginScope(state);
}

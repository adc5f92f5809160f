using Microsoft.Extensions.Logging;

namespace Millrace.Engine;

/// <summary>
/// A logger that reactors can use. Providers are the application's, and what they throw (a full disk, a collector that is gone) comes out
/// of the call that logs, as an AggregateException of Microsoft.Extensions.Logging: on a reactor's thread it would end the process. A line
/// that nobody takes is lost; there is nobody left to tell. Any thread.
/// </summary>
internal sealed class UnfailingLogger(ILogger logger) : ILogger
{
    public void Log<TState>(
        LogLevel logLevel, EventId eventId, TState state, Exception? exception, Func<TState, Exception?, string> formatter)
    {
        try
        {
            logger.Log(logLevel, eventId, state, exception, formatter);
        }
#pragma warning disable CA1031 // See above: no line is worth a reactor.
        catch (Exception)
#pragma warning restore CA1031
        {
        }
    }

    /// <summary>Who cannot say whether he wants a line is given it.</summary>
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

using Microsoft.Extensions.Logging;
using Millrace.Server.Configuration;

namespace Millrace.Server.Terminal;

/// <summary>Loggers whose lines name options as the operator has set them. Owns the factory below it; any thread.</summary>
internal sealed class NamingLoggerFactory(ILoggerFactory below) : ILoggerFactory
{
    public ILogger CreateLogger(string categoryName) => new NamingLogger(below.CreateLogger(categoryName));

    public void AddProvider(ILoggerProvider provider) => below.AddProvider(provider);

    public void Dispose() => below.Dispose();

    private sealed class NamingLogger(ILogger below) : ILogger
    {
        public IDisposable? BeginScope<TState>(TState state)
            where TState : notnull => below.BeginScope(state);

        public bool IsEnabled(LogLevel logLevel) => below.IsEnabled(logLevel);

        public void Log<TState>(
            LogLevel logLevel, EventId eventId, TState state, Exception? exception, Func<TState, Exception?, string> formatter) =>
            below.Log(logLevel, eventId, state, exception, (one, fault) => OptionNames.OfProcess.In(formatter(one, fault)));
    }
}

using Microsoft.Extensions.Logging;

namespace Millrace.Simulation.Tests.Runs;

/// <summary>Reads what the engine logs: what must not happen is a violation, a reactor that fails above all.</summary>
internal sealed class ReactorWatch(World world, SimulationRun simulation) : ILogger
{
    private const int ReactorFailed = 101;
    private const int ConnectionsLeft = 102;
    private const int HandlerFailed = 300;

    public void Log<TState>(
        LogLevel logLevel, EventId eventId, TState state, Exception? exception, Func<TState, Exception?, string> formatter)
    {
        switch (eventId.Id)
        {
            case ReactorFailed:
                world.Fail(Trace.NoConnection, $"The reactor failed: {exception}");

                // What comes next would end the process, and with it all other runs.
                simulation.HoldForGood("its reactor having failed");
                break;
            case ConnectionsLeft:
                world.Fail(Trace.NoConnection, $"{formatter(state, exception)}");
                simulation.ReactorSequencer.Leave(simulation.ReactorSequencer.Current);
                break;
            // An EIO reaches the handler as this exception, and ends its connection; the other one is what was planted.
            case HandlerFailed when exception is not (IOException or PlantedException):
                world.Fail(Trace.NoConnection, $"{formatter(state, exception)} {exception}");
                break;
        }
    }

    public bool IsEnabled(LogLevel logLevel) => true;

    public IDisposable? BeginScope<TState>(TState state)
        where TState : notnull => null;
}

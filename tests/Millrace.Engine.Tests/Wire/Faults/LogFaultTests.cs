using Microsoft.Extensions.Logging;
using Millrace.Engine.Tests.Kit;
using Millrace.Engine.Tests.Wire.Kit;
using Millrace.Interop;
using EngineTest = Millrace.Engine.Tests.Wire.Kit.EngineTest;
using Handlers = Millrace.Engine.Tests.Wire.Kit.Handlers;

namespace Millrace.Engine.Tests.Wire.Faults;

/// <summary>Logs are the application's: one that throws costs its line, and neither a connection nor the process.</summary>
public class LogFaultTests : EngineTest
{
    private readonly ThrowingLog _log = new(from: LogLevel.Warning);

    [Fact]
    public void A_line_that_cannot_be_written_is_nobodys_error()
    {
        var log = new EngineLog(_log);
        log.HandlerFailed(new InvalidOperationException("On purpose."));
        log.FileFaults(1, Errno.Describe(Errno.EIO));
        Assert.Equal([300, 302], _log.Asked);
    }

    [Fact]
    public async Task Behind_a_handler_that_fails_others_are_served()
    {
        bool fails = true;
        TestServer server = await Serve(
            connection => fails ? throw new InvalidOperationException("On purpose.") : Handlers.Echo(connection),
            Options with { LoggerFactory = _log });
        await server.ExpectReset(new byte[1]);

        fails = false;
        TestClient next = await server.Connect();
        Assert.Equal([1], await next.Exchange([1]));
        Assert.Contains(300, _log.Asked);
    }

    [Fact]
    public async Task Behind_one_that_is_turned_away_others_are_served()
    {
        TestServer server = await Serve(
            Handlers.Echo, Options with { LoggerFactory = _log, Limits = new Limits { Connections = 1 } });
        TestClient first = await server.Connect();
        Assert.Equal([1], await first.Exchange([1]));
        await server.ExpectReset(new byte[1]);
        Assert.Contains(202, _log.Asked);

        first.Finish();
        Assert.Empty(await first.ReceiveToEnd());
        await server.Emptied();
        TestClient next = await server.Connect();
        Assert.Equal([2], await next.Exchange([2]));
    }
}

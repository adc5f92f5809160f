using System.Net;
using Microsoft.Extensions.Logging.Abstractions;
using Microsoft.Extensions.Options;
using Millrace.AspNetCore.Tests.Transport.Kit;
using Millrace.AspNetCore.Transport;
using Millrace.Engine;

namespace Millrace.AspNetCore.Tests.Transport;

/// <summary>An option out of its range is refused by the name that it has here, whatever it is called where it goes to.</summary>
public class OptionRangeTests
{
    [Theory]
    [InlineData(nameof(MillraceTransportOptions.ReactorCount), -1)]
    [InlineData(nameof(MillraceTransportOptions.ReactorCount), 1_025)]
    [InlineData(nameof(MillraceTransportOptions.Backend), 99)]
    [InlineData(nameof(MillraceTransportOptions.Backlog), 0)]
    [InlineData(nameof(MillraceTransportOptions.MaxReadBufferSize), -1)]
    [InlineData(nameof(MillraceTransportOptions.MaxWriteBufferSize), -1)]
    [InlineData(nameof(MillraceTransportOptions.Scheduling), 99)]
    public async Task It_is_refused_by_its_own_name(string name, int value)
    {
        var options = new MillraceTransportOptions();
        switch (name)
        {
            case nameof(MillraceTransportOptions.ReactorCount):
                options.ReactorCount = value;
                break;
            case nameof(MillraceTransportOptions.Backend):
                options.Backend = (BackendKind)value;
                break;
            case nameof(MillraceTransportOptions.Backlog):
                options.Backlog = value;
                break;
            case nameof(MillraceTransportOptions.MaxReadBufferSize):
                options.MaxReadBufferSize = value;
                break;
            case nameof(MillraceTransportOptions.MaxWriteBufferSize):
                options.MaxWriteBufferSize = value;
                break;
            default:
                options.Scheduling = (TransportScheduling)value;
                break;
        }

        await using var factory = new MillraceTransportFactory(
            Options.Create(options), new Logs(), new TransportLog(NullLogger.Instance), KestrelPools.Factory);
        ArgumentOutOfRangeException error = await Assert.ThrowsAsync<ArgumentOutOfRangeException>(
            () => factory.BindAsync(new IPEndPoint(IPAddress.Loopback, 0)).AsTask().Within());
        Assert.Equal(name, error.ParamName);
    }
}

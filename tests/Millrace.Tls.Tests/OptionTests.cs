using Millrace.Tls.Tests.Kit;

namespace Millrace.Tls.Tests;

/// <summary>An option out of its range is refused by its name, before a certificate is read.</summary>
public class OptionTests : TlsTest
{
    [Theory]
    [InlineData(nameof(Millrace.Tls.TlsOptions.MinimumVersion))]
    [InlineData(nameof(Millrace.Tls.TlsOptions.ClientCertificates))]
    [InlineData(nameof(Millrace.Tls.TlsOptions.HandshakeTimeout))]
    [InlineData(nameof(Millrace.Tls.TlsOptions.HandshakeTimePerIteration))]
    [InlineData(nameof(Millrace.Tls.TlsOptions.TicketKeyLifetime))]
    public void It_is_refused_by_its_name(string name)
    {
        TlsOptions options = name switch
        {
            nameof(Millrace.Tls.TlsOptions.MinimumVersion) => TlsOptions() with { MinimumVersion = (TlsVersion)99 },
            nameof(Millrace.Tls.TlsOptions.ClientCertificates) => TlsOptions() with { ClientCertificates = (ClientCertificates)99 },
            nameof(Millrace.Tls.TlsOptions.HandshakeTimeout) => TlsOptions() with { HandshakeTimeout = Timeout.InfiniteTimeSpan },
            nameof(Millrace.Tls.TlsOptions.HandshakeTimePerIteration) => TlsOptions() with { HandshakeTimePerIteration = TimeSpan.FromTicks(-1) },
            _ => TlsOptions() with { TicketKeyLifetime = TimeSpan.FromDays(8) },
        };
        Assert.Equal(name, Assert.Throws<ArgumentOutOfRangeException>(() => TlsTerminator.Create(options, Log)).ParamName);
    }
}

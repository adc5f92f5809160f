using Microsoft.Extensions.Logging;
using Millrace.Engine.Tests.Kit;

namespace Millrace.Tls.Tests;

public class KeyLogTests
{
    /// <summary>It is written to within a callback of OpenSSL's, which no exception may leave.</summary>
    [Fact]
    public void A_line_of_secrets_that_neither_file_nor_log_takes_is_lost_and_no_more()
    {
        using var folder = new TemporaryFolder();
        var log = new ThrowingLog(from: LogLevel.Warning);
        var keys = new KeyLog(folder.File("keys"), new TlsLog(log));
        keys.Dispose();
        keys.TryWrite("CLIENT_RANDOM 00 00"u8);
        Assert.Equal([607, 608], log.Asked);
    }
}

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

    [Fact]
    public void Handshakes_whose_secrets_cannot_be_written_are_logged_once_in_a_while()
    {
        using var folder = new TemporaryFolder();
        var log = new LogCapture();
        var keys = new KeyLog(folder.File("keys"), new TlsLog(log));
        keys.Dispose();
        for (int i = 0; i < 1_000; i++)
        {
            keys.TryWrite("CLIENT_RANDOM 00 00"u8);
        }

        // One in ten seconds, and this takes less; or a few, where it took some on a busy machine.
        Assert.InRange(log.Count(608), 1, 5);
    }
}

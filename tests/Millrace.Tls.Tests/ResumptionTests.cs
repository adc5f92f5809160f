using Millrace.Engine;
using Millrace.Engine.Tests.Kit;
using Millrace.Tls.OpenSsl;
using Millrace.Tls.Tests.Kit;
using Millrace.Tls.Tickets;

namespace Millrace.Tls.Tests;

/// <summary>Sessions that clients bring back.</summary>
public class ResumptionTests : TlsTest
{
    private const string Request = "GET /session HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";

    [Theory]
    [InlineData("-tls1_2")]
    [InlineData("-tls1_3")]
    public async Task A_session_is_resumed_on_any_reactor(string version)
    {
        Listener listener = await ServeTlsAsync(WebHandler.ServeAsync, options: Options() with { Reactors = 2 });
        string file = Pem.PathOf("session");
        Assert.Contains("resumed=False", await Tools.AskAsync(listener, Request, version, "-sess_out", file), StringComparison.Ordinal);
        for (int i = 0; i < 6; i++)
        {
            string seen = await Tools.AskAsync(listener, Request, version, "-sess_in", file);
            bool isResumed = seen.Contains("resumed=True", StringComparison.Ordinal) && seen.Contains("Reused", StringComparison.Ordinal);
            Assert.True(isResumed, $"{seen}\n{string.Join('\n', Log.Entries.Select(static entry => entry.Text))}");
        }

        Assert.Equal((7, 6), (Terminator.Counters.HandshakesDone, Terminator.Counters.HandshakesResumed));
    }

    /// <summary>
    /// A resumed client of TLS 1.2 sends as its second flight what is encrypted, after eight bytes of chance (RFC 5288, section 3): one of
    /// 256 looks like the beginning of a ClientHello of megabytes.
    /// </summary>
    [Fact]
    public async Task What_a_tls_1_2_client_encrypts_is_not_taken_for_a_hello()
    {
        Listener listener = await ServeTlsAsync(WebHandler.ServeAsync);
        Client client = await ConnectAsync(listener);
        byte[] suites = [0, 2, 0xC0, 0x2B];
        byte[] extensions = [0, 22, 0, 10, 0, 4, 0, 2, 0, 23, 0, 13, 0, 4, 0, 2, 4, 3, 0, 11, 0, 2, 1, 0];
        await client.SendAsync((byte[])[22, 3, 1, 0, 69, 1, 0, 0, 65, 3, 3, .. new byte[33], .. suites, 1, 0, .. extensions]);
        Assert.Equal(22, (await client.ReceiveAsync(1))[0]);

        await client.SendAsync((byte[])[20, 3, 3, 0, 1, 1, 22, 3, 3, 0, 40, 1, 0xFF, 0xFF, 0xFF, .. new byte[36]]);

        await client.ReceiveToEndAsync();
        string reported = Assert.Single(Log.Entries, static entry => entry.Id == 600).Text;
        Assert.DoesNotContain("ClientHello", reported, StringComparison.Ordinal);
    }

    [Fact]
    public async Task Who_resumes_by_tls_1_3_is_given_another_ticket()
    {
        Listener listener = await ServeTlsAsync(WebHandler.ServeAsync);
        string used = Pem.PathOf("used");
        string next = Pem.PathOf("next");
        await Tools.AskAsync(listener, Request, "-tls1_3", "-sess_out", used);
        Assert.Contains(
            "resumed=True", await Tools.AskAsync(listener, Request, "-tls1_3", "-sess_in", used, "-sess_out", next), StringComparison.Ordinal);
        Assert.True(File.Exists(next), "no ticket came");
        Assert.Contains("resumed=True", await Tools.AskAsync(listener, Request, "-tls1_3", "-sess_in", next), StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("-tls1_2")]
    [InlineData("-tls1_3")]
    public async Task Where_certificates_are_verified_who_resumes_is_given_no_other_ticket(string version)
    {
        TlsOptions options = TlsOptions() with
        {
            ClientCertificates = ClientCertificates.Optional,
            ClientAuthoritiesFile = Pem.MakeSigned("client", "client").Authority,
        };
        Listener listener = await ServeTlsAsync(WebHandler.ServeAsync, options);
        string used = Pem.PathOf("used");
        string next = Pem.PathOf("next");
        await Tools.AskAsync(listener, Request, version, "-sess_out", used);
        Assert.Contains(
            "resumed=True", await Tools.AskAsync(listener, Request, version, "-sess_in", used, "-sess_out", next), StringComparison.Ordinal);
        Assert.True(!File.Exists(next) || File.ReadAllBytes(next).AsSpan().SequenceEqual(File.ReadAllBytes(used)), "another ticket came");
    }

    [Theory]
    [InlineData("-tls1_2")]
    [InlineData("-tls1_3")]
    public async Task A_session_outlives_a_reload_of_certificates(string version)
    {
        Listener listener = await ServeTlsAsync(WebHandler.ServeAsync);
        string file = Pem.PathOf("session");
        await Tools.AskAsync(listener, Request, version, "-sess_out", file);
        Assert.True(Terminator.TryReload());
        Assert.Contains("resumed=True", await Tools.AskAsync(listener, Request, version, "-sess_in", file), StringComparison.Ordinal);
    }

    [Fact]
    public async Task A_session_of_another_server_is_not_resumed()
    {
        Listener first = await ServeTlsAsync(WebHandler.ServeAsync);
        string file = Pem.PathOf("session");
        await Tools.AskAsync(first, Request, "-sess_out", file);
        Listener second = await ServeTlsAsync(WebHandler.ServeAsync);
        Assert.Contains("resumed=False", await Tools.AskAsync(second, Request, "-sess_in", file), StringComparison.Ordinal);
    }

    [Fact]
    public async Task What_was_resumed_before_certificates_were_asked_for_is_not_afterwards()
    {
        (string authority, _) = Pem.MakeSigned("client", "client");
        CertificateFiles files = Pem.Make("server", "localhost");
        TlsOptions options = TlsOptions(files) with { ClientCertificates = ClientCertificates.Optional, ClientAuthoritiesFile = authority };
        Listener listener = await ServeTlsAsync(WebHandler.ServeAsync, options);
        string file = Pem.PathOf("session");
        await Tools.AskAsync(listener, Request, "-sess_out", file);
        Assert.Contains("resumed=True", await Tools.AskAsync(listener, Request, "-sess_in", file), StringComparison.Ordinal);

        // The same keys of tickets, but other authorities.
        File.Copy(Pem.MakeSigned("other", "x").Authority, authority, overwrite: true);
        Assert.True(Terminator.TryReload());
        Assert.Contains("resumed=False", await Tools.AskAsync(listener, Request, "-sess_in", file), StringComparison.Ordinal);
    }

    [Fact]
    public unsafe void Keys_change_in_time_and_one_opens_tickets_for_two_lifetimes()
    {
        OpenSslLibrary.Require();
        var clock = new ManualClock();
        using var keys = new TicketKeys(TimeSpan.FromHours(6), clock);
        byte* first = stackalloc byte[TicketKey.NameBytes];
        byte* later = stackalloc byte[TicketKey.NameBytes];
        byte* vector = stackalloc byte[16];
        Assert.Equal(1, Run(mac => keys.Protect(first, vector, mac.Cipher, mac.Mac)));
        Assert.Equal(1, Run(mac => keys.Unprotect(first, vector, mac.Cipher, mac.Mac)));
        clock.Advance(TimeSpan.FromHours(6.1));
        Assert.Equal(2, Run(mac => keys.Unprotect(first, vector, mac.Cipher, mac.Mac)));
        Assert.Equal(1, Run(mac => keys.Protect(later, vector, mac.Cipher, mac.Mac)));
        Assert.False(new ReadOnlySpan<byte>(first, 16).SequenceEqual(new ReadOnlySpan<byte>(later, 16)));
        clock.Advance(TimeSpan.FromHours(6.1));
        Assert.Equal(0, Run(mac => keys.Unprotect(first, vector, mac.Cipher, mac.Mac)));
        Assert.Equal(2, Run(mac => keys.Unprotect(later, vector, mac.Cipher, mac.Mac)));
        clock.Advance(TimeSpan.FromHours(20));
        Assert.Equal(0, Run(mac => keys.Unprotect(later, vector, mac.Cipher, mac.Mac)));

        // One that nobody came with for two lifetimes, whose key is still the present one.
        Assert.Equal(1, Run(mac => keys.Protect(later, vector, mac.Cipher, mac.Mac)));
        clock.Advance(TimeSpan.FromHours(12.1));
        Assert.Equal(0, Run(mac => keys.Unprotect(later, vector, mac.Cipher, mac.Mac)));
    }

    private static int Run(Func<TicketContexts, int> step)
    {
        using var contexts = new TicketContexts();
        return step(contexts);
    }

    private sealed class ManualClock : TimeProvider
    {
        private long _ticks;

        public override long TimestampFrequency => TimeSpan.TicksPerSecond;

        public override long GetTimestamp() => _ticks;

        public void Advance(TimeSpan time) => _ticks += time.Ticks;
    }
}

using System.Net;
using System.Net.Security;
using System.Net.Sockets;
using System.Security.Authentication;
using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;
using Millrace.Engine;
using Millrace.Engine.Tests.Kit;
using Millrace.Tls.Handshakes;
using Millrace.Tls.Tests.Kit;

namespace Millrace.Tls.Tests;

/// <summary>What an authority sees that validates a domain by TLS-ALPN-01 (RFC 8737), and what others see meanwhile.</summary>
public class DomainValidationTests : TlsTest
{
    private const string Name = "site.example";
    private const string Request = "GET /session HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";

    private readonly Dictionary<string, LoadedCertificate> _challenges = [];
    private int _served;

    [Theory]
    [InlineData(SslProtocols.Tls12, Name)]
    [InlineData(SslProtocols.Tls13, Name)]
    [InlineData(SslProtocols.Tls13, "1.0.0.127.in-addr.arpa")]
    public async Task An_authority_is_shown_the_challenges_certificate_and_the_connection_ends(SslProtocols protocol, string name)
    {
        using X509Certificate2 challenge = AddChallenge(name);
        Listener listener = await ServeTlsAsync(ServeAsync, Validated());
        SslStream stream = await ConnectTlsAsync(listener, Authority(name, protocol));
        Assert.Equal((protocol, "acme-tls/1"), (stream.SslProtocol, stream.NegotiatedApplicationProtocol.ToString()));
        Assert.Equal(challenge.RawData, stream.RemoteCertificate!.GetRawCertData());
        Assert.Empty(await ReceiveToEndAsync(stream));
        Assert.Equal((1, 0), (Terminator.Counters.HandshakesDone, Terminator.Counters.HandshakesFailed));
        Assert.Equal(0, _served);
    }

    [Theory]
    [InlineData("-tls1_2")]
    [InlineData("-tls1_3")]
    public async Task It_gets_close_notify_and_no_ticket(string version)
    {
        using X509Certificate2 challenge = AddChallenge(Name);
        Listener listener = await ServeTlsAsync(ServeAsync, Validated());
        string seen = await Tools.AskAsync(listener, Request, version, "-alpn", "acme-tls/1", "-servername", Name, "-msg");
        Assert.Contains("ALPN protocol: acme-tls/1", seen, StringComparison.Ordinal);
        Assert.Matches(@"<<< .*Alert \[length 0002\], warning close_notify", seen);
        Assert.DoesNotContain("NewSessionTicket", seen, StringComparison.Ordinal);
        Assert.DoesNotContain("CertificateRequest", seen, StringComparison.Ordinal);
        Assert.Equal(0, _served);
    }

    [Fact]
    public async Task Where_clients_need_certificates_it_needs_none()
    {
        using X509Certificate2 challenge = AddChallenge(Name);
        (string authority, _) = Pem.MakeSigned("clients", "client");
        Listener listener = await ServeTlsAsync(ServeAsync, Validated() with
        {
            ClientCertificates = ClientCertificates.Required,
            ClientAuthoritiesFile = authority,
        });
        SslStream stream = await ConnectTlsAsync(listener, Authority(Name));
        Assert.Equal(challenge.RawData, stream.RemoteCertificate!.GetRawCertData());
        Assert.Empty(await ReceiveToEndAsync(stream));
        Assert.DoesNotContain("sni=", await Tools.AskAsync(listener, Request), StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("-servername", "other.example")]
    [InlineData("-noservername")]
    public async Task Without_such_a_challenge_it_is_refused(params string[] arguments)
    {
        using X509Certificate2 challenge = AddChallenge(Name);
        Listener listener = await ServeTlsAsync(ServeAsync, Validated());
        string seen = await Tools.AskAsync(listener, Request, ["-alpn", "acme-tls/1", .. arguments]);
        Assert.Contains("no application protocol", seen, StringComparison.Ordinal);
        Assert.DoesNotContain("BEGIN CERTIFICATE", seen, StringComparison.Ordinal);
        Assert.Equal((0, 1), (Terminator.Counters.HandshakesDone, Terminator.Counters.HandshakesFailed));
    }

    /// <summary>RFC 8737, section 3: the authority offers this protocol alone. Others are served as ever, also during a challenge.</summary>
    [Theory]
    [InlineData("acme-tls/1,http/1.1", "http/1.1")]
    [InlineData("http/1.1", "http/1.1")]
    [InlineData(null, "")]
    public async Task Others_get_the_usual_certificate(string? offered, string chosen)
    {
        using X509Certificate2 challenge = AddChallenge("localhost");
        Listener listener = await ServeTlsAsync(ServeAsync, Validated());
        string seen = await Tools.AskAsync(listener, Request, offered is null ? [] : ["-alpn", offered]);
        Assert.Contains($"alpn={chosen} ", seen, StringComparison.Ordinal);
        Assert.DoesNotContain(challenge.Subject, seen, StringComparison.Ordinal);
    }

    [Fact]
    public async Task A_server_without_protocols_goes_on_without()
    {
        using X509Certificate2 challenge = AddChallenge(Name);
        Listener listener = await ServeTlsAsync(ServeAsync, Validated() with { ApplicationProtocols = [] });
        Assert.Contains("alpn= ", await Tools.AskAsync(listener, Request, "-alpn", "h2,http/1.1"), StringComparison.Ordinal);
        SslStream stream = await ConnectTlsAsync(listener, Authority(Name));
        Assert.Equal(challenge.RawData, stream.RemoteCertificate!.GetRawCertData());
    }

    /// <summary>All others are gone from the connection: a client without ECDSA gets none.</summary>
    [Fact]
    public async Task The_usual_certificate_is_never_shown_in_its_place()
    {
        using X509Certificate2 challenge = AddChallenge(Name);
        Listener listener = await ServeTlsAsync(
            ServeAsync, Validated(Pem.MakeRsa("rsa", Name), Pem.Make("ecdsa", Name)));
        string[] onlyRsa = ["-sigalgs", "RSA-PSS+SHA256", "-servername", Name];
        Assert.Contains("sni=", await Tools.AskAsync(listener, Request, onlyRsa), StringComparison.Ordinal);
        string seen = await Tools.AskAsync(listener, Request, [.. onlyRsa, "-alpn", "acme-tls/1"]);
        Assert.DoesNotContain("BEGIN CERTIFICATE", seen, StringComparison.Ordinal);
        SslStream stream = await ConnectTlsAsync(listener, Authority(Name));
        Assert.Equal(challenge.RawData, stream.RemoteCertificate!.GetRawCertData());
    }

    [Theory]
    [InlineData("-tls1_2")]
    [InlineData("-tls1_3")]
    public async Task A_session_is_not_resumed_for_it(string version)
    {
        using X509Certificate2 challenge = AddChallenge(Name);
        string ticket = Pem.PathOf("ticket");
        Listener listener = await ServeTlsAsync(ServeAsync, Validated());
        await Tools.AskAsync(listener, Request, version, "-servername", Name, "-sess_out", ticket);
        Assert.Contains(
            "resumed=True", await Tools.AskAsync(listener, Request, version, "-servername", Name, "-sess_in", ticket), StringComparison.Ordinal);
        string seen = await Tools.AskAsync(
            listener, Request, version, "-servername", Name, "-sess_in", ticket, "-alpn", "acme-tls/1", "-msg");
        Assert.Contains("New, TLSv1", seen, StringComparison.Ordinal);
        Assert.Contains("ALPN protocol: acme-tls/1", seen, StringComparison.Ordinal);
    }

    [Fact]
    public async Task It_may_need_a_second_hello()
    {
        using X509Certificate2 challenge = AddChallenge(Name);
        Listener listener = await ServeTlsAsync(ServeAsync, Validated());
        string seen = await Tools.AskAsync(
            listener, Request, "-groups", "X448:P-256", "-alpn", "acme-tls/1", "-servername", Name, "-msg");
        Assert.Equal(2, seen.Split("Handshake [length", StringSplitOptions.None).Count(static part => part.Contains(", ClientHello", StringComparison.Ordinal)));
        Assert.Contains("ALPN protocol: acme-tls/1", seen, StringComparison.Ordinal);
        Assert.Equal(1, Terminator.Counters.HandshakesDone);
    }

    [Fact]
    public async Task A_challenge_that_fails_ends_its_connection_only_and_is_logged()
    {
        Listener listener = await ServeTlsAsync(ServeAsync, TlsOptions() with
        {
            ChallengeCertificates = static name => name == Name ? throw new InvalidOperationException("lost") : default,
        });
        Assert.Contains(
            "internal error", await Tools.AskAsync(listener, Request, "-alpn", "acme-tls/1", "-servername", Name), StringComparison.Ordinal);
        Assert.Contains("lost", Assert.Single(Log.Entries, static entry => entry.Id == 611).Text, StringComparison.Ordinal);
        Assert.Contains("sni=", await Tools.AskAsync(listener, Request), StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("-tls1_2")]
    [InlineData("-tls1_3")]
    public async Task A_challenge_may_be_found_later(string version)
    {
        AddChallenge(Name);
        var asked = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        var sought = new TaskCompletionSource<LoadedCertificate?>(TaskCreationOptions.RunContinuationsAsynchronously);
        Listener listener = await ServeTlsAsync(ServeAsync, TlsOptions() with
        {
            ChallengeCertificates = name =>
            {
                asked.TrySetResult();
                return new(name == Name ? sought.Task : Task.FromResult<LoadedCertificate?>(null));
            },
        });
        Task<string> validation = Tools.AskAsync(listener, Request, version, "-alpn", "acme-tls/1", "-servername", Name);
        await asked.Task.WaitAsync(TimeSpan.FromSeconds(30), TestContext.Current.CancellationToken);
        Assert.Contains("sni=", await Tools.AskAsync(listener, Request), StringComparison.Ordinal);
        Assert.False(validation.IsCompleted);

        sought.SetResult(_challenges[Name]);
        Assert.Contains("ALPN protocol: acme-tls/1", await validation, StringComparison.Ordinal);
        Assert.Equal(2, Terminator.Counters.HandshakesDone);
    }

    [Fact]
    public async Task A_challenge_that_is_not_found_later_either_is_refused()
    {
        Listener listener = await ServeTlsAsync(ServeAsync, TlsOptions() with
        {
            ChallengeCertificates = static async _ =>
            {
                await Task.Yield();
                return null;
            },
        });
        Assert.Contains(
            "no application protocol",
            await Tools.AskAsync(listener, Request, "-alpn", "acme-tls/1", "-servername", Name), StringComparison.Ordinal);
    }

    [Fact]
    public async Task A_client_that_goes_while_its_challenge_is_sought_leaves_nothing()
    {
        var asked = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        var sought = new TaskCompletionSource<LoadedCertificate?>(TaskCreationOptions.RunContinuationsAsynchronously);
        Listener listener = await ServeTlsAsync(ServeAsync, TlsOptions() with
        {
            ChallengeCertificates = _ =>
            {
                asked.TrySetResult();
                return new(sought.Task);
            },
        });
        using (var client = new TcpClient())
        {
            await client.ConnectAsync((IPEndPoint)listener.EndPoint, TestContext.Current.CancellationToken);
            await using var tls = new SslStream(client.GetStream());
            Task handshake = tls.AuthenticateAsClientAsync(Authority(Name), TestContext.Current.CancellationToken);
            await asked.Task.WaitAsync(TimeSpan.FromSeconds(30), TestContext.Current.CancellationToken);
            client.Close();
            await Assert.ThrowsAnyAsync<Exception>(() => handshake);
        }

        await Waiting.UntilAsync(() => Terminator.Counters.HandshakesFailed == 1, "the failure was counted");
        AddChallenge(Name);
        sought.SetResult(_challenges[Name]);
        Assert.Contains("sni=", await Tools.AskAsync(listener, Request), StringComparison.Ordinal);
        Assert.Equal(1, Terminator.Counters.HandshakesDone);
    }

    [Fact]
    [Trait("Duration", "Full")]
    public async Task Validations_without_end_keep_no_memory()
    {
        const int RoundsMax = 20;
        const int Count = 50;
        const int BytesEach = 1_000;
        using X509Certificate2 challenge = AddChallenge(Name);
        Listener listener = await ServeTlsAsync(ServeAsync, Validated());

        // In one of some rounds: what the process compiles and starts meanwhile is counted with it, and with a newer OpenSSL more of it.
        long each = long.MaxValue;
        int rounds = 0;
        for (; rounds < RoundsMax && each >= BytesEach; rounds++)
        {
            long before = BytesInUse();
            for (int i = 0; i < Count; i++)
            {
                // Another process, as .NET's client would take of the same memory.
                await Tools.AskAsync(listener, "", "-alpn", "acme-tls/1", "-servername", Name);
            }

            each = (BytesInUse() - before) / Count;
        }

        Assert.Equal(rounds * Count, Terminator.Counters.HandshakesDone);
        Assert.True(each < BytesEach, $"{each} bytes of each are left.");

        // Without what waits for a finalizer only.
        static long BytesInUse()
        {
            GC.Collect();
            GC.WaitForPendingFinalizers();
            return Heap.BytesInUse();
        }
    }

    [Theory]
    [InlineData("", null)]
    [InlineData("0000", null)]
    [InlineData("0004000001", null)]
    [InlineData("000400000161", "a")]
    [InlineData("000400000141", "a")]
    [InlineData("000400000261", null)]
    [InlineData("000500000161", null)]
    [InlineData("000401000161", null)]
    [InlineData("00080000016100000162", null)]
    public void A_name_is_read_or_it_is_none(string extension, string? name) =>
        Assert.Equal(name, DomainValidation.ReadName(Convert.FromHexString(extension)));

    private static SslClientAuthenticationOptions Authority(string name, SslProtocols protocol = SslProtocols.None) => new()
    {
        TargetHost = name,
        EnabledSslProtocols = protocol,
        ApplicationProtocols = [new SslApplicationProtocol("acme-tls/1")],
    };

    private TlsOptions Validated(params CertificateFiles[] certificates) => TlsOptions(certificates) with
    {
        ChallengeCertificates = name => new(_challenges.GetValueOrDefault(name)),
    };

    /// <summary>As RFC 8737, section 3, wants it: one name, and a critical extension that an ordinary client refuses.</summary>
    private X509Certificate2 AddChallenge(string name)
    {
        using var key = ECDsa.Create(ECCurve.NamedCurves.nistP256);
        var request = new CertificateRequest("CN=challenge", key, HashAlgorithmName.SHA256);
        var names = new SubjectAlternativeNameBuilder();
        names.AddDnsName(name);
        request.CertificateExtensions.Add(names.Build());
        request.CertificateExtensions.Add(new X509Extension("1.3.6.1.5.5.7.1.31", [4, 32, .. RandomNumberGenerator.GetBytes(32)], critical: true));
        X509Certificate2 made = request.CreateSelfSigned(DateTimeOffset.UtcNow.AddDays(-1), DateTimeOffset.UtcNow.AddDays(7));
        _challenges[name] = new LoadedCertificate(made);
        return made;
    }

    private Task ServeAsync(Connection connection)
    {
        Interlocked.Increment(ref _served);
        return WebHandler.ServeAsync(connection);
    }
}

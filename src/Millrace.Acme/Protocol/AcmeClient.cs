using System.Buffers.Text;
using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;
using System.Text;
using System.Text.Json;
using Microsoft.Extensions.Logging;
using Millrace.Interop.Files;

namespace Millrace.Acme.Protocol;

/// <summary>
/// A client of one certificate authority over HTTP. It keeps the directory and some nonces, no accounts and no orders, and it does not
/// poll. Any thread.
/// </summary>
internal sealed partial class AcmeClient : IAcmeClient
{
    private const int BadNonceRetriesMax = 5;
    private const int AlternatesMax = 8;

    /// <summary>Between the first and the last year of a process, an authority may move, and offer more.</summary>
    private static readonly TimeSpan DirectoryLifetime = TimeSpan.FromHours(1);

    // RFC 9773, section 4.3.2: some minutes to a day; six hours are what it recommends.
    private static readonly TimeSpan RenewalCheckMin = TimeSpan.FromMinutes(1);
    private static readonly TimeSpan RenewalCheckMax = TimeSpan.FromDays(1);
    private static readonly TimeSpan RenewalCheckDefault = TimeSpan.FromHours(6);

    private readonly Uri _url;
    private readonly AcmeChannel _channel;
    private readonly NoncePool _nonces;
    private readonly TimeProvider _clock;
    private readonly ILogger _log;
    private KnownDirectory? _known;

    /// <param name="directory">The authority's directory: https, or http on this machine.</param>
    /// <param name="roots">Whom the authority's own server is trusted by; null for the system's roots.</param>
    /// <param name="clock">The time, and all timeouts.</param>
    /// <param name="log">Receives every request, for debugging.</param>
    /// <exception cref="ArgumentException">The directory's URL is not one of these.</exception>
    public AcmeClient(Uri directory, X509Certificate2Collection? roots, TimeProvider clock, ILogger log)
    {
        if (!AcmeFields.IsAllowed(directory, directory))
        {
            throw new ArgumentException(
                $"The URL of an authority begins with https (http only on this machine): {directory}", nameof(directory));
        }

        _url = directory;
        _clock = clock;
        _log = log;
        _nonces = new NoncePool(clock);
        _channel = new AcmeChannel(directory, roots, clock, log);
    }

    /// <summary>For the authority that the options name.</summary>
    /// <exception cref="AcmeConfigurationException">Its URL, or the file with its roots, cannot be used.</exception>
    public static AcmeClient Create(AcmeOptions options, TimeProvider clock, ILogger log)
    {
        try
        {
            return new AcmeClient(options.DirectoryUrl, RootsOf(options.RootsFile), clock, log);
        }
        catch (ArgumentException e)
        {
            throw new AcmeConfigurationException(e.Message, e);
        }
    }

    public void Dispose() => _channel.Dispose();

    public async Task<AcmeAccount> CreateAccountAsync(ECDsa key, string? email, ExternalAccount? external, CancellationToken cancel)
    {
        AcmeDirectory directory = await DirectoryAsync(cancel);
        if (directory.ExternalAccountRequired && external is null)
        {
            throw new AcmeException(
                $"The authority {_url.Authority} requires an external account: configure its key id and its HMAC key.");
        }

        byte[]? binding = external is null
            ? null
            : JsonWebSignature.Bind(key, external.KeyId, HmacKeyOf(external), directory.NewAccount);
        byte[] payload = JsonWebSignature.Write(writer =>
        {
            writer.WriteBoolean("termsOfServiceAgreed", true);
            if (email is not null)
            {
                writer.WriteStartArray("contact");
                writer.WriteStringValue($"mailto:{email}");
                writer.WriteEndArray();
            }

            if (binding is not null)
            {
                writer.WritePropertyName("externalAccountBinding");
                writer.WriteRawValue(binding);
            }
        });
        AcmeResponse response = await PostAsync("the account", directory.NewAccount, key, account: null, payload, cancel);
        string? status = Read(response, static fields => fields.TextOrNull("status"));
        return status is null or "valid"
            ? new AcmeAccount(key, LocationOf(response))
            : throw new AcmeException($"The account with the authority {_url.Authority} is {AcmeText.Clean(status)}.")
            {
                Problem = ProblemDocument.Unauthorized($"the account is {AcmeText.Clean(status)}"),
            };
    }

    public async Task<AcmeOrder> CreateOrderAsync(
        AcmeAccount account,
        IReadOnlyList<AcmeIdentifier> identifiers,
        string? profile,
        X509Certificate2? replaces,
        CancellationToken cancel)
    {
        AcmeDirectory directory = await DirectoryAsync(cancel);
        if (profile is not null && !directory.Profiles.Contains(profile, StringComparer.Ordinal))
        {
            string offered = directory.Profiles.Count == 0 ? "none" : AcmeText.Clean(string.Join(", ", directory.Profiles));
            throw new AcmeException($"The authority {_url.Authority} does not offer the profile {profile}; it offers: {offered}.");
        }

        string? replaced = replaces is not null && directory.RenewalInfo is not null ? RenewalCertificateId.Of(replaces) : null;
        try
        {
            return await OrderAsync(account, directory.NewOrder, identifiers, profile, replaced, cancel);
        }
        catch (AcmeException e) when (replaced is not null && IsAboutReplacement(e.Problem))
        {
            // An order that replaces nothing is as good: it only loses its exemption from rate limits.
            LogReplacesRefused(replaced, e.Message);
            return await OrderAsync(account, directory.NewOrder, identifiers, profile, replaces: null, cancel);
        }
    }

    public async Task<AcmeOrder> GetOrderAsync(AcmeAccount account, Uri order, CancellationToken cancel) =>
        OrderOf(await PostAsync("the state of the order", order, account, payload: null, cancel), order);

    public async Task<AcmeAuthorization> GetAuthorizationAsync(AcmeAccount account, Uri authorization, CancellationToken cancel)
    {
        AcmeResponse response = await PostAsync("the authorization", authorization, account, payload: null, cancel);
        return Read(response, fields => AcmeObjects.Authorization(fields, authorization, response.RetryAfter));
    }

    public async Task AcceptChallengeAsync(AcmeAccount account, AcmeChallenge challenge, CancellationToken cancel)
    {
        byte[] payload = JsonWebSignature.Write(static _ => { });
        AcmeResponse response = await PostAsync($"the validation by {challenge.Type}", challenge.Url, account, payload, cancel);
        Read(response, static fields => fields.Text("type"));
    }

    public async Task DeactivateAuthorizationAsync(AcmeAccount account, Uri authorization, CancellationToken cancel)
    {
        byte[] payload = JsonWebSignature.Write(static writer => writer.WriteString("status", "deactivated"));
        await PostAsync("the deactivation of an authorization", authorization, account, payload, cancel);
    }

    public async Task<AcmeOrder> FinalizeAsync(AcmeAccount account, AcmeOrder order, byte[] request, CancellationToken cancel)
    {
        byte[] payload = JsonWebSignature.Write(writer => writer.WriteString("csr", Base64Url.EncodeToString(request)));
        return OrderOf(await PostAsync("the signing request", order.Finalize, account, payload, cancel), order.Url);
    }

    public async Task<IReadOnlyList<string>> DownloadAsync(AcmeAccount account, AcmeOrder order, CancellationToken cancel)
    {
        Uri url = order.Certificate ?? throw new ArgumentException("The order has no certificate yet.", nameof(order));
        AcmeResponse response = await PostAsync("the certificate", url, account, payload: null, cancel, AcmeRequest.Pem);
        var chains = new List<string> { ChainOf(response) };
        foreach (Uri alternate in response.Alternates.Where(alternate => AcmeFields.IsAllowed(alternate, _url)).Take(AlternatesMax))
        {
            try
            {
                chains.Add(ChainOf(await PostAsync("an alternate chain", alternate, account, payload: null, cancel, AcmeRequest.Pem)));
            }
            catch (AcmeException e)
            {
                // The default chain is complete without it.
                LogAlternateMissing(e.Message);
            }
        }

        return chains;
    }

    public async Task RevokeAsync(AcmeAccount account, X509Certificate2 certificate, CancellationToken cancel)
    {
        AcmeDirectory directory = await DirectoryAsync(cancel);
        Uri url = directory.RevokeCertificate ?? throw new AcmeException($"The authority {_url.Authority} does not take revocations.");
        byte[] payload = JsonWebSignature.Write(
            writer => writer.WriteString("certificate", Base64Url.EncodeToString(certificate.RawDataMemory.Span)));
        await PostAsync("the revocation", url, account, payload, cancel);
    }

    public async Task<RenewalInfo?> GetRenewalInfoAsync(X509Certificate2 certificate, CancellationToken cancel)
    {
        AcmeDirectory directory = await DirectoryAsync(cancel);
        if (directory.RenewalInfo is not { } renewal || RenewalCertificateId.Of(certificate) is not { } id)
        {
            return null;
        }

        var url = new Uri($"{renewal.AbsoluteUri.TrimEnd('/')}/{id}");
        AcmeResponse response = await GetAsync(new AcmeRequest("the renewal information", HttpMethod.Get, url), cancel);
        TimeSpan again = response.RetryAfter ?? RenewalCheckDefault;
        return Read(response, AcmeObjects.Renewal) with
        {
            RetryAfter = TimeSpan.FromTicks(Math.Clamp(again.Ticks, RenewalCheckMin.Ticks, RenewalCheckMax.Ticks)),
        };
    }

    private async Task<AcmeOrder> OrderAsync(
        AcmeAccount account,
        Uri url,
        IReadOnlyList<AcmeIdentifier> identifiers,
        string? profile,
        string? replaces,
        CancellationToken cancel)
    {
        byte[] payload = JsonWebSignature.Write(writer =>
        {
            writer.WriteStartArray("identifiers");
            foreach (AcmeIdentifier identifier in identifiers)
            {
                writer.WriteStartObject();
                writer.WriteString("type", identifier.Type);
                writer.WriteString("value", identifier.Value);
                writer.WriteEndObject();
            }

            writer.WriteEndArray();
            if (profile is not null)
            {
                writer.WriteString("profile", profile);
            }

            if (replaces is not null)
            {
                writer.WriteString("replaces", replaces);
            }
        });
        AcmeResponse response = await PostAsync("the order", url, account, payload, cancel);
        return OrderOf(response, LocationOf(response));
    }

    /// <summary>Whether the certificate to replace may be the cause: it is replaced already, unknown, or of another account.</summary>
    private static bool IsAboutReplacement(ProblemDocument? problem) =>
        problem is { Name: "alreadyReplaced" or "malformed" or "unauthorized" } or { Status: 404 or 409 };

    private async Task<AcmeDirectory> DirectoryAsync(CancellationToken cancel)
    {
        if (Volatile.Read(ref _known) is { } known && _clock.GetElapsedTime(known.Read) < DirectoryLifetime)
        {
            return known.Directory;
        }

        // Two that find it old read it twice, which does no harm.
        AcmeResponse response = await GetAsync(new AcmeRequest("the directory", HttpMethod.Get, _url), cancel);
        AcmeDirectory directory = Read(response, AcmeObjects.Directory);
        Volatile.Write(ref _known, new KnownDirectory(directory, _clock.GetTimestamp()));
        return directory;
    }

    private Task<AcmeResponse> PostAsync(
        string what, Uri url, AcmeAccount account, byte[]? payload, CancellationToken cancel, string accept = AcmeRequest.Json) =>
        PostAsync(what, url, account.Key, account.Url, payload, cancel, accept);

    /// <summary>Signs and sends, again with another nonce as long as only the nonce is refused.</summary>
    private async Task<AcmeResponse> PostAsync(
        string what, Uri url, ECDsa key, Uri? account, byte[]? payload, CancellationToken cancel, string accept = AcmeRequest.Json)
    {
        for (int retries = 0; ; retries++)
        {
            string nonce = _nonces.Take() ?? await NewNonceAsync(cancel);
            byte[] body = JsonWebSignature.Sign(key, account, url, nonce, payload);
            var request = new AcmeRequest(what, HttpMethod.Post, url) { Body = body, Accept = accept };
            AcmeResponse response = await _channel.SendAsync(request, cancel);
            bool isNonceRefused = !response.IsSuccess && AcmeErrors.ProblemOf(response, _url).Name == "badNonce";
            if (isNonceRefused)
            {
                _nonces.Clear();
            }

            _nonces.Add(response.Nonce);
            if (!isNonceRefused || retries == BadNonceRetriesMax)
            {
                return response.IsSuccess ? response : throw AcmeErrors.Refused(response, _url);
            }
        }
    }

    private async Task<string> NewNonceAsync(CancellationToken cancel)
    {
        AcmeDirectory directory = await DirectoryAsync(cancel);
        AcmeResponse response = await GetAsync(new AcmeRequest("a nonce", HttpMethod.Head, directory.NewNonce), cancel);
        _nonces.Add(response.Nonce);
        return _nonces.Take() ?? throw AcmeErrors.Malformed(response.Request, "the header Replay-Nonce is missing, or is not Base64Url");
    }

    private async Task<AcmeResponse> GetAsync(AcmeRequest request, CancellationToken cancel)
    {
        AcmeResponse response = await _channel.SendAsync(request, cancel);
        return response.IsSuccess ? response : throw AcmeErrors.Refused(response, _url);
    }

    private AcmeOrder OrderOf(AcmeResponse response, Uri url) =>
        Read(response, fields => AcmeObjects.Order(fields, url, response.RetryAfter));

    private Uri LocationOf(AcmeResponse response) =>
        response.Location is { } location && AcmeFields.IsAllowed(location, _url)
            ? location
            : throw AcmeErrors.Malformed(response.Request, "the header Location is missing, or has a URL that is not used");

    private T Read<T>(AcmeResponse response, Func<AcmeFields, T> read)
    {
        if (!response.IsJson)
        {
            throw AcmeErrors.Malformed(response.Request, $"the Content-Type is {response.MediaType}");
        }

        try
        {
            using JsonDocument json = JsonDocument.Parse(response.Body);
            return read(new AcmeFields(json.RootElement, _url));
        }
        catch (Exception e) when (AcmeErrors.IsUnreadable(e))
        {
            string why = e is JsonException ? $"the answer is not JSON: {AcmeText.Clean(e.Message)}" : e.Message;
            throw AcmeErrors.Malformed(response.Request, why, e);
        }
    }

    /// <summary>The certificates, and nothing that is between them: the file is a server's, and gets a private key beside it.</summary>
    private static string ChainOf(AcmeResponse response)
    {
        if (response.MediaType != AcmeRequest.Pem)
        {
            string type = response.MediaType.Length == 0 ? "missing" : response.MediaType;
            throw AcmeErrors.Malformed(response.Request, $"the Content-Type is {type}");
        }

        string text = Encoding.UTF8.GetString(response.Body);
        var chain = new X509Certificate2Collection();
        try
        {
            chain.ImportFromPem(text);
            return chain.Count > 0 && chain.Count == text.Split("-----BEGIN ").Length - 1
                ? string.Concat(chain.Select(static certificate => certificate.ExportCertificatePem() + "\n"))
                : throw AcmeErrors.Malformed(response.Request, "the chain is empty, cut off, or has more than certificates");
        }
        catch (CryptographicException e)
        {
            throw AcmeErrors.Malformed(response.Request, $"a certificate cannot be read: {e.Message}", e);
        }
        finally
        {
            foreach (X509Certificate2 certificate in chain)
            {
                certificate.Dispose();
            }
        }
    }

    private static byte[] HmacKeyOf(ExternalAccount external)
    {
        try
        {
            byte[] key = Base64Url.DecodeFromChars(external.HmacKey.Trim());
            return key.Length > 0 ? key : throw new FormatException();
        }
        catch (FormatException e)
        {
            throw new AcmeException("The HMAC key of the external account is not Base64Url: configure it as the authority gives it.", e);
        }
    }

    private static X509Certificate2Collection? RootsOf(string? file)
    {
        if (file is null)
        {
            return null;
        }

        var roots = new X509Certificate2Collection();
        try
        {
            roots.ImportFromPemFile(file);
        }
        catch (Exception e) when (e is IOException or UnauthorizedAccessException or CryptographicException)
        {
            string reason = e is CryptographicException ? "they are damaged" : FileProblem.Of(file, e);
            string remedy = FileProblem.RemedyOf(e, "Name a PEM file that this user may read.");
            throw new AcmeConfigurationException($"The roots of the authority cannot be read from {file}: {reason}. {remedy}", e);
        }

        return roots.Count > 0
            ? roots
            : throw new AcmeConfigurationException($"{file} has no certificate: it needs the authority's roots in PEM.");
    }

    [LoggerMessage(2, LogLevel.Information, "Ordering again without naming {Replaced} as the certificate to replace: {Message}")]
    private partial void LogReplacesRefused(string replaced, string message);

    [LoggerMessage(3, LogLevel.Information, "Skipping an alternate chain: {Message}")]
    private partial void LogAlternateMissing(string message);

    private sealed record KnownDirectory(AcmeDirectory Directory, long Read);
}

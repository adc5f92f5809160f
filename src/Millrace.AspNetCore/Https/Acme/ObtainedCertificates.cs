using Microsoft.AspNetCore.Hosting.Server;
using Microsoft.AspNetCore.Hosting.Server.Features;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Hosting;
using Microsoft.Extensions.Logging;
using Microsoft.Extensions.Options;
using Millrace.Acme;
using Millrace.Tls;

namespace Millrace.AspNetCore.Https.Acme;

/// <summary>
/// The certificates that an application obtains, for all of its endpoints. Owns their manager, which is made when the first endpoint is
/// bound, before the application has started; starts with the application; and ends when that stops. Any thread; changes take a lock.
/// </summary>
internal sealed class ObtainedCertificates(
    IOptionsFactory<MillraceAcmeOptions> options,
    IHostEnvironment environment,
    IHostApplicationLifetime lifetime,
    IServiceProvider services,
    ILoggerFactory logs,
    TimeProvider? clock = null) : IHostedService, IAsyncDisposable, IDisposable
{
    private readonly Lock _changing = new();
    private readonly List<Action<IReadOnlyList<ServerCertificate>>> _endpoints = [];
    private readonly AcmeLog _log = AcmeLog.Of(logs);
    private Action<MillraceAcmeOptions>? _configure;
    private AcmeChallengeTypes _answered = AcmeChallengeTypes.Http01;
    private bool _hasHook;
    private CancellationTokenRegistration _starting;
    private volatile AcmeManager? _manager;

    public TimeProvider Clock { get; } = clock ?? TimeProvider.System;

    /// <summary>The challenges that are open; null while no endpoint obtains certificates.</summary>
    public ChallengeTable? Challenges => _manager?.Challenges;

    /// <summary>The state of all certificates, those that are missing as well; empty while no endpoint obtains certificates.</summary>
    public IReadOnlyList<AcmeCertificate> Certificates => _manager?.Certificates ?? [];

    /// <exception cref="InvalidOperationException">The services are not registered.</exception>
    public static ObtainedCertificates Of(IServiceProvider services) => services.GetService<ObtainedCertificates>()
        ?? throw new InvalidOperationException("Certificates are obtained by services that are missing: call services.AddMillraceAcme().");

    /// <summary>Called while an endpoint is configured.</summary>
    /// <param name="configure">Its options, applied after those of endpoints before it.</param>
    /// <param name="answersTlsAlpn">Whether it answers TLS-ALPN-01.</param>
    public void Configure(Action<MillraceAcmeOptions> configure, bool answersTlsAlpn)
    {
        lock (_changing)
        {
            _configure += configure;
            _answered |= answersTlsAlpn ? AcmeChallengeTypes.TlsAlpn01 : AcmeChallengeTypes.None;
        }
    }

    /// <summary>Called when an endpoint is bound: reads what was obtained before.</summary>
    /// <exception cref="AcmeConfigurationException">The options or the folder cannot be used; the message names the remedy.</exception>
    public void Open()
    {
        lock (_changing)
        {
            if (_manager is null)
            {
                _manager = CreateManager();
                string[] missing = ListMissing();
                if (missing.Length > 0)
                {
                    _log.SelfSigned(string.Join(", ", missing));
                }

                _starting = lifetime.ApplicationStarted.Register(Start);
            }
        }
    }

    /// <summary>
    /// Has an endpoint serve what is obtained: at once, and after each change until the result is disposed of. While a name has no
    /// certificate the last is a self-signed one.
    /// </summary>
    /// <exception cref="AcmeConfigurationException">The options or the folder cannot be used; the message names the remedy.</exception>
    public IDisposable Serve(Action<IReadOnlyList<ServerCertificate>> endpoint)
    {
        Open();
        lock (_changing)
        {
            endpoint(ListServed());
            _endpoints.Add(endpoint);
            return new Serving(this, endpoint);
        }
    }

    /// <summary>The certificate that proves control over a host to an authority; null if it does not ask for that now.</summary>
    public async ValueTask<LoadedCertificate?> FindChallengeAsync(string host) =>
        _manager is { } manager && await manager.Challenges.FindCertificateAsync(host) is { } found ? new LoadedCertificate(found) : null;

    public Task StartAsync(CancellationToken cancellationToken) => Task.CompletedTask;

    public Task StopAsync(CancellationToken cancellationToken) => DisposeAsync().AsTask();

    public async ValueTask DisposeAsync()
    {
        await _starting.DisposeAsync();
        if (_manager is { } manager)
        {
            await manager.DisposeAsync();
        }
    }

    /// <summary>For containers that are disposed synchronously.</summary>
    public void Dispose() => DisposeAsync().AsTask().GetAwaiter().GetResult();

    private void Start()
    {
        string[] names = [.. Certificates.SelectMany(static one => one.Names).Distinct(StringComparer.Ordinal)];
        if (_answered == AcmeChallengeTypes.Http01 && !_hasHook && !HasPlainEndPoint())
        {
            _log.NoPlainEndPoint(string.Join(", ", names));
        }

        _manager!.Start();
    }

    /// <summary>Also if the server does not say.</summary>
    private bool HasPlainEndPoint() =>
        services.GetService<IServer>()?.Features.Get<IServerAddressesFeature>()?.Addresses is not { Count: > 0 } addresses
        || addresses.Any(static address => address.StartsWith("http://", StringComparison.OrdinalIgnoreCase));

    private AcmeManager CreateManager()
    {
        if (OperatingSystem.IsWindows())
        {
            throw new AcmeConfigurationException("Certificates cannot be obtained on Windows: use UseAcme on Linux only.");
        }

        MillraceAcmeOptions configured = options.Create(Options.DefaultName);
        _configure?.Invoke(configured);
        _hasHook = configured.DnsHook is not null;
        return new AcmeManager(configured.ToOptions(new ApplicationFolders(environment)), _answered, ServeChanged, logs, Clock);
    }

    private void ServeChanged()
    {
        lock (_changing)
        {
            IReadOnlyList<ServerCertificate> served = ListServed();
            _endpoints.ForEach(endpoint => endpoint(served));
        }
    }

    private IReadOnlyList<ServerCertificate> ListServed()
    {
        IEnumerable<ServerCertificate> obtained = (_manager?.Files ?? []).Select(static file => new CertificateFiles(file, file));
        string[] missing = ListMissing();
        return missing.Length == 0 ? [.. obtained] : [.. obtained, SelfSignedCertificate.Make(missing, Clock)];
    }

    /// <summary>The names that no certificate has yet, of any kind of key: a self-signed one is for these only.</summary>
    private string[] ListMissing()
    {
        ILookup<bool, string> names = Certificates
            .SelectMany(static one => one.Names.Select(name => (Name: name, IsObtained: one.File is not null)))
            .ToLookup(static one => one.IsObtained, static one => one.Name);
        return [.. names[false].Except(names[true])];
    }

    private sealed class Serving(ObtainedCertificates owner, Action<IReadOnlyList<ServerCertificate>> endpoint) : IDisposable
    {
        public void Dispose()
        {
            // Waits for a change that is under way: what the endpoint serves by is disposed of next.
            lock (owner._changing)
            {
                owner._endpoints.Remove(endpoint);
            }
        }
    }
}

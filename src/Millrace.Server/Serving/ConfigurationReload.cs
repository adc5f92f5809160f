using Microsoft.Extensions.Logging;
using Millrace.Acme;
using Millrace.Engine;
using Millrace.HttpServer;
using Millrace.HttpServer.Upstreams;
using Millrace.Server.Configuration;
using Millrace.Server.Https;
using Millrace.Server.Terminal;
using Millrace.StaticFiles;
using Millrace.Tls;

namespace Millrace.Server.Serving;

/// <summary>
/// Applies a changed configuration to a running server: opens everything new first, and only if all of that succeeds swaps it in and closes
/// what is removed. Unchanged parts are kept and reloaded. Not thread-safe.
/// </summary>
internal sealed class ConfigurationReload(
    ServerConfiguration configuration,
    ServeOptions started,
    HostedSites hosted,
    SiteUpstreams upstreams,
    HttpsEndpoints httpsEndpoints,
    ListenEndpoints listenEndpoints,
    StaticSiteServer sites,
    AcmeManager? acme,
    ServerLog log)
{
    private readonly ServeOptions _started = started;

    public ServeOptions Current { get; private set; } = started;

    public async Task RunAsync()
    {
        if (configuration.Read(out IReadOnlyList<OptionError> errors, _started) is not { } next)
        {
            foreach (OptionError error in errors)
            {
                log.ConfigurationKept(error.ToString());
            }

            return;
        }

        try
        {
            await AcquireAsync(next);
        }
        catch (Exception refusal) when (refusal is SiteException or TlsException or EngineException
            or IOException or UnauthorizedAccessException)
        {
            log.ConfigurationKept(refusal.Message);
        }
#pragma warning disable CA1031 // A signal has no caller: after any error the current state stays in use.
        catch (Exception fault)
#pragma warning restore CA1031
        {
            log.ReloadFailed(fault);
        }
    }

    private async Task AcquireAsync(ServeOptions next)
    {
        AcmeService.Check(next, acme);
        HttpsEndpoint? before = httpsEndpoints.Current;
        HttpsEndpoint? https = httpsEndpoints.OpenNext(next.Https);
        IReadOnlyList<OpenSite> nextSites = [];
        IReadOnlyList<EndpointBinding> nextBindings;
        UpstreamGroups? nextUpstreams = null;
        try
        {
            nextUpstreams = upstreams.Next(next);
            hosted.PrivateFiles.Add(ServerFiles.Of(next, configuration.Path, https));
            nextSites = hosted.OpenNext(next.Sites);
            nextBindings = await listenEndpoints.OpenNextAsync(next, https);
        }
        catch
        {
            upstreams.Discard(nextUpstreams ?? upstreams.Current);
            hosted.Discard(nextSites);
            httpsEndpoints.Discard(https);
            hosted.PrivateFiles.Replace(ServerFiles.Of(Current, configuration.Path, before));
            throw;
        }

        Site[] kept = [.. nextSites.Select(static open => open.Site).Intersect(hosted.All.Select(static open => open.Site))];
        await sites.ReplaceAsync(HostedSites.TableOf(nextSites), nextUpstreams);
        upstreams.Replace(nextUpstreams);
        hosted.Replace(nextSites);
        await listenEndpoints.ReplaceAsync(nextBindings, next, https);
        httpsEndpoints.Replace(https, next.Https);
        AcmeService.Replace(next, acme);
        var unchanged = new List<string>();
        if (https == before && !httpsEndpoints.Reload())
        {
            unchanged.Add("the certificates");
        }

        Current = next;
        hosted.PrivateFiles.Replace(ServerFiles.Of(next, configuration.Path, https));
        unchanged.AddRange(kept.Where(static site => !site.Reload()).Select(static site => $"the files of {site.Root}"));
        Report(next, unchanged);
    }

    private void Report(ServeOptions next, List<string> unchanged)
    {
        foreach (ServerOption option in OptionTable.All.Where(static option => option.Change == OptionChange.AtRestart))
        {
            if (!TextsOf(option, _started.Configured).SequenceEqual(TextsOf(option, next.Configured), StringComparer.Ordinal))
            {
                log.NeedsRestart(option.Path);
            }
        }

        if (configuration.Path is string path)
        {
            string count = Counted.Of(next.Sites.Count, "site");
            string addresses = string.Join(", ", listenEndpoints.Served);
            if (unchanged.Count == 0)
            {
                log.ConfigurationApplied(path, count, addresses);
            }
            else
            {
                log.ConfigurationAppliedInPart(path, string.Join(" and ", unchanged), count, addresses);
            }
        }
    }

    private static IEnumerable<string> TextsOf(ServerOption option, SettingSet configured) =>
        configured.TextsOf(option).DefaultIfEmpty(option.Default);
}

/// <summary>The log lines of the server. Event ids are stable.</summary>
internal sealed partial class ServerLog(ILogger logger)
{
    [LoggerMessage(1, LogLevel.Information, "Configuration {Path} applied: {Sites} on {Addresses}.")]
    public partial void ConfigurationApplied(string path, string sites, string addresses);

    [LoggerMessage(2, LogLevel.Error, "Reload failed; keeping the current configuration: {Reason}")]
    public partial void ConfigurationKept(string reason);

    [LoggerMessage(3, LogLevel.Warning, "{Option} has changed, which takes effect after a restart.")]
    public partial void NeedsRestart(string option);

    [LoggerMessage(4, LogLevel.Error, "Reload failed unexpectedly; keeping the current state.")]
    public partial void ReloadFailed(Exception fault);

    [LoggerMessage(5, LogLevel.Information, "Draining: {Connections}; in-flight requests get {Seconds} s to finish.")]
    public partial void Draining(string connections, double seconds);

    [LoggerMessage(6, LogLevel.Information, "Stopped.")]
    public partial void Stopped();

    [LoggerMessage(7, LogLevel.Warning,
        "The certificate {File} ({Hosts}) expires in {Days}, on {Date}. {Remedy}")]
    public partial void CertificateDue(string file, string hosts, string days, string date, string remedy);

    [LoggerMessage(8, LogLevel.Error,
        "The certificate {File} ({Hosts}) expired on {Date}: clients refuse it. {Remedy}")]
    public partial void CertificateExpired(string file, string hosts, string date, string remedy);

    [LoggerMessage(9, LogLevel.Warning, "The local certificate expires on {Date}, and the next one could not be made. {Reason}")]
    public partial void LocalCertificateDue(string date, string reason);

    [LoggerMessage(10, LogLevel.Error,
        "Configuration {Path} applied, but {Kept} could not be read again and stay as they were: {Sites} on {Addresses}. Correct what the "
        + "lines before this one name, and reload again.")]
    public partial void ConfigurationAppliedInPart(string path, string kept, string sites, string addresses);

    [LoggerMessage(11, LogLevel.Warning, "{What}")]
    public partial void StoppedAtOnce(string what);

    [LoggerMessage(12, LogLevel.Warning,
        "Only {Count} descriptors may be open, so that connections are turned away under load: raise the limit ('ulimit -n', "
        + "LimitNOFILE=).")]
    public partial void FewDescriptors(long count);

    [LoggerMessage(13, LogLevel.Warning, "{Cause}. {Remedy}")]
    public partial void NoDictionaryFolder(string cause, string remedy);
}

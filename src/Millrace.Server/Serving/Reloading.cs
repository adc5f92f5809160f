using Millrace.Engine;
using Millrace.Server.Https;
using Millrace.Server.Options;
using Millrace.Server.Options.Settings;
using Millrace.StaticFiles;
using Millrace.Tls;
using Millrace.Web;

namespace Millrace.Server.Serving;

/// <summary>
/// How a server comes to serve what its configuration says now: what is new is opened first, and only if all of it can be had is it swapped
/// in and what is gone closed. What is told as before is kept and read anew. One thread at a time.
/// </summary>
internal sealed class Reloading(
    Configuration configuration,
    ServeOptions started,
    HostedSites hosted,
    HttpsFronts fronts,
    Entrances entrances,
    StaticSites sites,
    ServerLog log)
{
    private readonly ServeOptions _started = started;

    /// <summary>What is served.</summary>
    public ServeOptions Current { get; private set; } = started;

    public async Task RunAsync()
    {
        if (configuration.Read(out IReadOnlyList<Complaint> complaints, _started) is not { } next)
        {
            foreach (Complaint complaint in complaints)
            {
                log.ConfigurationKept(complaint.ToString());
            }

            return;
        }

        try
        {
            await AdoptAsync(next);
        }
        catch (Exception refusal) when (refusal is SiteException or TlsException or EngineException
            or IOException or UnauthorizedAccessException)
        {
            log.ConfigurationKept(refusal.Message);
        }
#pragma warning disable CA1031 // A signal has no caller: whatever went wrong, who is served now goes on being served.
        catch (Exception fault)
#pragma warning restore CA1031
        {
            log.ReloadFailed(fault);
        }
    }

    private async Task AdoptAsync(ServeOptions next)
    {
        HttpsFront? before = fronts.Current;
        HttpsFront? https = fronts.OpenNext(next.Https);
        IReadOnlyList<OpenSite> nextSites = [];
        IReadOnlyList<Placement> nextEntrances;
        try
        {
            nextSites = hosted.OpenNext(next.Sites);
            nextEntrances = await entrances.OpenNextAsync(next, https);
        }
        catch
        {
            hosted.Discard(nextSites);
            fronts.Discard(https);
            throw;
        }

        Site[] kept = [.. nextSites.Select(static open => open.Site).Intersect(hosted.All.Select(static open => open.Site))];
        await sites.ExchangeAsync(HostedSites.TableOf(nextSites));
        hosted.Replace(nextSites);
        await entrances.ReplaceAsync(nextEntrances, next, https);
        fronts.Replace(https, next.Https);
        Current = next;
        Array.ForEach(kept, static site => site.Reload());
        if (https == before)
        {
            https?.Reload();
        }

        Tell(next);
    }

    private void Tell(ServeOptions next)
    {
        foreach (ServerOption option in OptionTable.All.Where(static option => option.Change == OptionChange.AtRestart))
        {
            if (!TextsOf(option, _started.Told).SequenceEqual(TextsOf(option, next.Told), StringComparer.Ordinal))
            {
                log.NeedsRestart(option.Path);
            }
        }

        if (configuration.Path is string path)
        {
            log.ConfigurationAdopted(path, next.Sites.Count, string.Join(", ", entrances.Served));
        }
    }

    private static IEnumerable<string> TextsOf(ServerOption option, SettingSet told) => told.TextsOf(option).DefaultIfEmpty(option.Default);
}

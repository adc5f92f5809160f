using Microsoft.Extensions.Logging;
using Millrace.HttpServer;
using Millrace.HttpServer.RateLimiting;
using Millrace.Server.AccessLog;
using Millrace.Server.Configuration;
using Millrace.Server.Https;
using Millrace.StaticFiles;
using Millrace.StaticFiles.Scanning;

namespace Millrace.Server.Serving;

/// <summary>The open sites of this process: the default site and those of virtual hosts. Not thread-safe.</summary>
internal sealed class HostedSites(ILoggerFactory logging) : IDisposable
{
    public IReadOnlyList<OpenSite> All { get; private set; } = [];

    /// <summary>Counts the requests of all sites with rate limits.</summary>
    public required RateLimiter RateLimiter { get; init; }

    /// <summary>Where sites keep earlier files.</summary>
    public DictionaryFolders Dictionaries { get; init; } = new(standard: null, isShared: false);

    /// <summary>Files that no site serves.</summary>
    public PrivateFiles PrivateFiles { get; } = new();

    /// <summary>
    /// Opens configured sites that are not open yet, without serving them. Throws <see cref="SiteException"/> if one cannot be served; then
    /// nothing has changed.
    /// </summary>
    public IReadOnlyList<OpenSite> OpenNext(IReadOnlyCollection<HostedSite> configured)
    {
        Dictionaries.RequireUnserved(configured);
        var next = new List<OpenSite>();
        try
        {
            foreach (HostedSite site in configured)
            {
                OpenSite? same = All.FirstOrDefault(open => open.Configured.HasSameOptions(site)
                    && !next.Exists(other => other.Site == open.Site));
                next.Add(new OpenSite(site, same?.Site ?? Open(site)));
            }

            return next;
        }
        catch
        {
            Discard(next);
            throw;
        }
    }

    private Site Open(HostedSite site) =>
        Site.Open(Dictionaries.Resolve(site) with { PrivateFiles = PrivateFiles }, logging);

    /// <summary>Closes sites that were opened but will not be served.</summary>
    public void Discard(IEnumerable<OpenSite> next) => Close(next, All);

    /// <summary>Makes these the current sites, and closes all others.</summary>
    public void Replace(IReadOnlyList<OpenSite> next)
    {
        IReadOnlyList<OpenSite> before = All;
        All = next;
        Close(before, next);
    }

    public static HostTable TableOf(IEnumerable<OpenSite> sites) =>
        new([.. sites.Select(static open => (open.Configured.Name, open.Site))]);

    public void Dispose()
    {
        Replace([]);
        PrivateFiles.Dispose();
    }

    private static void Close(IEnumerable<OpenSite> sites, IReadOnlyList<OpenSite> kept)
    {
        foreach (OpenSite left in sites.Where(open => kept.All(other => other.Site != open.Site)))
        {
            left.Site.Dispose();
        }
    }
}

internal sealed record OpenSite(HostedSite Configured, Site Site);

/// <summary>The server's own files, which no site may serve. Certificates are public, unless a key is in the same file.</summary>
internal static class ServerFiles
{
    public static IReadOnlyList<string> Of(ServeOptions options, string? configuration, HttpsEndpoint? https)
    {
        var files = new List<string>(options.Https.Certificates.Select(static files => files.Key));
        files.AddRange(options.Https.KeyPasswordPaths);
        files.AddRange(options.Sites.SelectMany(static site => site.Site.PasswordFiles));
        string?[] others =
            [https?.Local?.Files.Key, options.Acme.ExternalAccountFile, options.Https.KeyLog, Located(configuration)];
        files.AddRange(others.OfType<string>());
        if (options.AccessLog.Destination is { } log && LogDestination.IsFile(log))
        {
            files.Add(log);
        }

        return files;
    }

    /// <summary>Its path at the start, even if the working directory has changed since.</summary>
    private static string? Located(string? configuration) => configuration is null ? null : StartDirectory.Locate(configuration);
}

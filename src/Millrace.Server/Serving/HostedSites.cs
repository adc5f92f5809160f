using Microsoft.Extensions.Logging;
using Millrace.StaticFiles;
using Millrace.Web;

namespace Millrace.Server.Serving;

/// <summary>The sites of this process: the one that answers for every host, and those that answer for one. One thread at a time.</summary>
internal sealed class HostedSites(ILoggerFactory logging) : IDisposable
{
    public IReadOnlyList<OpenSite> All { get; private set; } = [];

    /// <summary>
    /// Opens what is told and not open yet, without serving it. Throws <see cref="SiteException"/> where one cannot be served; then all is
    /// as it was.
    /// </summary>
    public IReadOnlyList<OpenSite> OpenNext(IEnumerable<HostedSite> told)
    {
        var next = new List<OpenSite>();
        try
        {
            foreach (HostedSite site in told)
            {
                OpenSite? same = All.FirstOrDefault(open => open.Told.IsServedLike(site) && !next.Exists(other => other.Site == open.Site));
                next.Add(new OpenSite(site, same?.Site ?? Site.Open(site.Site, logging)));
            }

            return next;
        }
        catch
        {
            Discard(next);
            throw;
        }
    }

    /// <summary>Closes what was opened and is not to be served after all.</summary>
    public void Discard(IEnumerable<OpenSite> next) => Close(next, All);

    /// <summary>These are served now: closes all others.</summary>
    public void Replace(IReadOnlyList<OpenSite> next)
    {
        IReadOnlyList<OpenSite> before = All;
        All = next;
        Close(before, next);
    }

    public static HostTable TableOf(IEnumerable<OpenSite> sites) => new([.. sites.Select(static open => (open.Told.Name, open.Site))]);

    public void Dispose() => Replace([]);

    private static void Close(IEnumerable<OpenSite> sites, IReadOnlyList<OpenSite> kept)
    {
        foreach (OpenSite left in sites.Where(open => kept.All(other => other.Site != open.Site)))
        {
            left.Site.Dispose();
        }
    }
}

/// <summary>A site that is open, and what was told of it.</summary>
internal sealed record OpenSite(HostedSite Told, Site Site);

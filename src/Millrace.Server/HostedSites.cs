using Microsoft.Extensions.Logging;
using Millrace.StaticFiles;
using Millrace.Web;

namespace Millrace.Server;

/// <summary>The sites of this process: the one that answers for every host, and those that answer for one.</summary>
internal sealed class HostedSites : IDisposable
{
    private readonly List<(string? Host, string Root, Site Site)> _all = [];

    private HostedSites()
    {
    }

    public IReadOnlyList<(string? Host, string Root, Site Site)> All => _all;

    public HostTable Table => new([.. _all.Select(static hosted => (hosted.Host, hosted.Site))]);

    /// <summary>Opens all of them, or none. Throws <see cref="SiteException"/> for one that cannot be served.</summary>
    public static HostedSites Open(ServeOptions options, ILoggerFactory logging)
    {
        var hosted = new HostedSites();
        try
        {
            hosted.Add(null, options.Site, logging);
            foreach (HostedRoot host in options.Hosts)
            {
                hosted.Add(host.Name, options.Site with { Root = host.Root }, logging);
            }

            return hosted;
        }
        catch
        {
            hosted.Dispose();
            throw;
        }
    }

    /// <summary>Reads all of them anew.</summary>
    public void Reload() => _all.ForEach(static hosted => hosted.Site.Reload());

    public void Dispose() => _all.ForEach(static hosted => hosted.Site.Dispose());

    private void Add(string? host, SiteOptions options, ILoggerFactory logging) =>
        _all.Add((host, options.Root, Site.Open(options, logging)));
}

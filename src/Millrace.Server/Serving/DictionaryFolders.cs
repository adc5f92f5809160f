using System.Globalization;
using System.IO.Hashing;
using System.Text;
using Millrace.Acme.Storage;
using Millrace.Interop.Files;
using Millrace.Server.Configuration;
using Millrace.Server.Host;
using Millrace.StaticFiles;
using Millrace.StaticFiles.Scanning;

namespace Millrace.Server.Serving;

/// <summary>Where sites keep the files of earlier deployments. Immutable; any thread.</summary>
/// <param name="standard">The folder for sites without a configured one; null for memory.</param>
/// <param name="isShared">Whether the standard folder is that of all programs of this user.</param>
internal sealed class DictionaryFolders(string? standard, bool isShared)
{
    /// <summary>Those of a process, by its environment: no standard folder where the user that it becomes has none.</summary>
    public static DictionaryFolders Of(ServeOptions options) => DefaultFolders.StateOfService is { } state
        ? new DictionaryFolders(Path.Combine(state, "dictionaries"), isShared: false)
        : new DictionaryFolders(
            options.Service.User is null && DefaultFolders.OfUser is { } user ? Path.Combine(user, "dictionaries") : null, isShared: true);

    /// <summary>
    /// Why folders cannot be written by the calling thread, each with its remedy. Without one, dictionaries are in memory only.
    /// </summary>
    public IEnumerable<(string Cause, string Remedy)> ProblemsOf(IEnumerable<HostedSite> sites)
    {
        IEnumerable<string> folders = sites.Where(static hosted => Uses(hosted.Site))
            .Select(hosted => hosted.Site.DictionaryDirectory ?? standard).OfType<string>().Distinct();
        return from one in folders
               let result = ParentDirectory.MayMakeIn(one)
               where result < 0
               select (
                   $"Dictionaries cannot be kept in {one}: {FileProblem.Of(one, result)}",
                   "Name another folder with --dictionary-dir; until then they are in memory only.");
    }

    /// <summary>
    /// The site with a folder of its own in the configured one or the standard one: hosts are other origins. No host is named like the
    /// folder of the main site. In a folder that other programs share, the name has a hash of the root's path, as it is given: a link that
    /// is switched at each deployment leads to the same folder.
    /// </summary>
    public SiteOptions Resolve(HostedSite hosted)
    {
        SiteOptions site = hosted.Site;
        SiteOptionChecks.RequireOutside(site);
        string name = hosted.Name.Length == 0 ? "_main" : string.Concat(hosted.Name.Select(static one => one is '*' or '/' ? '_' : one));
        string? folder = site.DictionaryDirectory is { } configured ? Path.Combine(configured, name)
            : standard is null ? null
            : Path.Combine(standard, isShared ? $"{name}-{HashOf(site.Root)}" : name);
        return Uses(site) ? site with { DictionaryDirectory = folder } : site;
    }

    /// <summary>Throws <see cref="SiteException"/> if the folder of a site is in the root of any of them, and not hidden there.</summary>
    public void RequireUnserved(IReadOnlyCollection<HostedSite> sites)
    {
        // Each path is resolved once: there may be thousands of hosts.
        string[] given = [.. sites.Where(static one => Uses(one.Site)).Select(one => Resolve(one).DictionaryDirectory).OfType<string>()];
        ComparedPath[] folders = [.. given.Select(static one => new ComparedPath(one))];
        foreach (SiteOptions site in sites.Select(static one => one.Site).TakeWhile(_ => folders.Length > 0))
        {
            var root = new ComparedPath(site.Root);
            foreach (ComparedPath folder in folders)
            {
                SiteOptionChecks.RequireOutside(root, site.Dotfiles, folder);
            }
        }
    }

    private static bool Uses(SiteOptions site) => site.Dictionaries || site.PageDictionary;

    private static string HashOf(string root)
    {
        string path = Path.TrimEndingDirectorySeparator(Path.GetFullPath(root));
        return XxHash3.HashToUInt64(Encoding.UTF8.GetBytes(path)).ToString("x16", CultureInfo.InvariantCulture);
    }
}

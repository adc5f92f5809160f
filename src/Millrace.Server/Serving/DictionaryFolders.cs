using Millrace.Acme.Storage;
using Millrace.Server.Configuration;
using Millrace.StaticFiles;

namespace Millrace.Server.Serving;

/// <summary>Where sites keep the files of earlier deployments. Reads the environment; any thread.</summary>
internal static class DictionaryFolders
{
    /// <summary>The folder if none is configured; null for memory, where the user that the process becomes has no folder.</summary>
    public static string? Default(ServeOptions options) =>
        (DefaultFolders.StateOfService ?? (options.Service.User is null ? DefaultFolders.OfUser : null)) is { } folder
            ? Path.Combine(folder, "dictionaries")
            : null;

    /// <summary>
    /// The site with a folder of its own in the configured one or the default: hosts are other origins. No host is named like the folder of
    /// the main site.
    /// </summary>
    public static SiteOptions Resolve(HostedSite hosted, string? defaultFolder)
    {
        SiteOptions site = hosted.Site;
        string name = hosted.Name.Length == 0 ? "_main" : string.Concat(hosted.Name.Select(static one => one is '*' or '/' ? '_' : one));
        return !site.Dictionaries && !site.PageDictionary ? site : site with
        {
            DictionaryDirectory = (site.DictionaryDirectory ?? defaultFolder) is { } folder ? Path.Combine(folder, name) : null,
        };
    }
}

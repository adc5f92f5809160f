using Millrace.StaticFiles.Access;
using Millrace.StaticFiles.Compression;
using Millrace.StaticFiles.Rules;
using Millrace.StaticFiles.Scanning;

namespace Millrace.StaticFiles;

/// <summary>Checks the options of a site at start. Throws <see cref="SiteException"/>.</summary>
internal static class SiteOptionChecks
{
    /// <summary>Each takes a coding of each file, and a variant's memory.</summary>
    public const int DictionaryVersionsMax = 8;

    public static void Check(SiteOptions options)
    {
        Require(!string.IsNullOrEmpty(options.Root), "The root is empty.", "Name the directory to serve.");
        Require(!HasNul(options.Root), "The root's path holds a zero byte.", "Name the directory to serve.");
        CheckValues(options);
    }

    /// <summary>Checks all but the root.</summary>
    public static void CheckValues(SiteOptions options)
    {
        CheckLimits(options);
        CheckPages(options);
        CheckFields(options);
        CheckRoutes(options);
        CheckAccess(options);
    }

    private static void CheckLimits(SiteOptions options)
    {
        RequireNotNegative(options.CacheFileBytesMax, nameof(options.CacheFileBytesMax));
        RequireNotNegative(options.CacheBytesMax ?? 0, nameof(options.CacheBytesMax));
        RequireNotNegative(options.ReadBytesMax, nameof(options.ReadBytesMax));
        RequireNotNegative(options.HashedBytesTotalMax, nameof(options.HashedBytesTotalMax));
        RequireNotNegative(options.CompressedBytesTotalMax, nameof(options.CompressedBytesTotalMax));
        RequireNotNegative(options.DescriptorsMax ?? 0, nameof(options.DescriptorsMax));
        RequireNotNegative(options.EntriesMax, nameof(options.EntriesMax));
        RequireNotNegative(options.ArchivesMax, nameof(options.ArchivesMax));
        Require(
            (options.Archives & ~(ArchiveFormats.TarGzip | ArchiveFormats.Zip)) == 0,
            $"{options.Archives} is not a set of archive formats.",
            "Give members of ArchiveFormats.");
        CheckDictionaries(options);
        Require(Enum.IsDefined(options.Dotfiles), $"{options.Dotfiles} is not a policy for dotfiles.", "Give a member of DotfilePolicy.");
        Require(Enum.IsDefined(options.Watch), $"{options.Watch} is not a watch mode.", "Give a member of WatchMode.");
    }

    /// <summary>Throws if the folder for dictionaries that a site names is in its own root, and not hidden there.</summary>
    public static void RequireOutside(SiteOptions site)
    {
        if (site.DictionaryDirectory is { } folder)
        {
            RequireOutside(new ComparedPath(site.Root), site.Dotfiles, new ComparedPath(folder));
        }
    }

    /// <summary>
    /// Throws if the folder for dictionaries is below a root and not hidden there, whatever links lead there: each file in it would be a
    /// change of the site, and served.
    /// </summary>
    public static void RequireOutside(ComparedPath root, DotfilePolicy dotfiles, ComparedPath folder)
    {
        if (IsServed(root.Full, folder.Full, dotfiles) || IsServed(root.Real, folder.Real, dotfiles))
        {
            throw new SiteException(
                $"The folder for dictionaries '{FieldValidation.Shown(folder.Given)}' is in the root "
                + $"'{FieldValidation.Shown(root.Given)}'.",
                "Name a folder outside of it (--dictionary-dir; DictionaryDirectory in code).");
        }
    }

    /// <summary>Throws if what begins a maintenance is a directory, which is there for another purpose.</summary>
    public static void RequireFile(string? maintenance) => Require(
        maintenance is null || !Directory.Exists(maintenance),
        $"The maintenance file '{FieldValidation.Shown(maintenance ?? "")}' is a directory.",
        "Name a file that exists during a maintenance only.");

    private static void CheckDictionaries(SiteOptions options)
    {
        RequireNotNegative(options.DictionaryStoreBytesMax, nameof(options.DictionaryStoreBytesMax));
        RequireNotNegative(options.DictionaryBytesTotalMax, nameof(options.DictionaryBytesTotalMax));
        RequireNotNegative(options.DictionaryFileBytesMax, nameof(options.DictionaryFileBytesMax));
        Require(
            options.DictionaryFileBytesMax <= BodyCoder.BytesMax,
            $"{options.DictionaryFileBytesMax} is too large for a file that is coded with a dictionary.",
            $"Give at most {BodyCoder.BytesMax}.");
        Require(
            options.DictionaryVersions is >= 1 and <= DictionaryVersionsMax,
            $"{options.DictionaryVersions} is not a number of earlier versions.",
            $"Give 1 to {DictionaryVersionsMax}.");
        Require(
            options.DictionaryProcessorPercent is >= 1 and <= 100,
            $"{options.DictionaryProcessorPercent} is not a share of a processor in percent.",
            "Give 1 to 100.");
        Require(
            options.DictionaryDirectory is null or [_, ..] && !HasNul(options.DictionaryDirectory ?? ""),
            "The folder for dictionaries has no name.",
            "Name a folder that only this server writes.");
    }

    private static void CheckPages(SiteOptions options)
    {
        foreach (string name in options.IndexNames)
        {
            bool isFileName = name.Length > 0 && name.AsSpan().IndexOfAny('/', '\0') < 0;
            Require(isFileName, $"'{FieldValidation.Shown(name)}' cannot be an index name.", "Give plain file names.");
        }

        if (options.Fallback is not null)
        {
            RequireUrlPath(options.Fallback);
        }

        foreach ((int status, string path) in options.ErrorPages)
        {
            Require(status is >= 400 and <= 599, $"{status} is not an error status.", "Give 400 to 599.");
            RequireUrlPath(path);
        }

        Require(
            options.Charset.Length == 0 || FieldValidation.IsToken(options.Charset),
            $"'{FieldValidation.Shown(options.Charset)}' is not a charset.",
            "Use a name such as utf-8, or none.");
        Require(
            options.Charset.Length <= ContentType.CharsetCharactersMax,
            $"The charset has {options.Charset.Length} characters.",
            $"Give at most {ContentType.CharsetCharactersMax}.");
        foreach ((string extension, string type) in options.ContentTypes)
        {
            bool isExtension = extension.Length > 0 && !extension.Any(char.IsUpper) && extension.AsSpan().IndexOfAny("./\0") < 0;
            Require(isExtension, $"'{FieldValidation.Shown(extension)}' is not an extension.", "Give it in lower case, without its dot.");
            FieldValidation.CheckValue("Content-Type", type);
            Require(
                type.Length <= ContentType.TypeCharactersMax,
                $"The content type of '{extension}' has {type.Length} characters.",
                $"Give at most {ContentType.TypeCharactersMax}.");
        }
    }

    private static void CheckFields(SiteOptions options)
    {
        RequireFew(options.CacheControl.Count, nameof(options.CacheControl));
        RequireFew(options.Fields.Count, nameof(options.Fields));
        _ = FieldRules.BlocksOf(options);
        if (options.Cors is CorsOptions cors)
        {
            RequireFew(cors.Origins.Count, nameof(cors.Origins));
            Require(cors.Origins.Count > 0, "CORS names no origin.", "Name the sites whose scripts may read, or * for any.");
            Require(
                cors.Origins.Count == 1 || !cors.Origins.Contains("*"),
                "CORS names * beside other origins.",
                "Name * alone, or the others.");
            RequireNotNegative(cors.MaxAgeSeconds, nameof(cors.MaxAgeSeconds));
            foreach (string origin in cors.Origins)
            {
                CorsPolicy.CheckOrigin(origin);
            }
        }
    }

    private static void CheckRoutes(SiteOptions options)
    {
        RequireFew(options.Redirects.Count, nameof(options.Redirects));
        foreach (RedirectRule rule in options.Redirects)
        {
            _ = Route.Compile(rule);
        }

        RequireFew(options.Proxies.Count, nameof(options.Proxies));
        foreach (ProxyRule rule in options.Proxies)
        {
            _ = Route.Compile(rule);
        }

        RequireFew(options.ProxyAllow.Count, nameof(options.ProxyAllow));
        _ = new AllowedUpstreams(options);
    }

    private static void CheckAccess(SiteOptions options)
    {
        RequireFew(options.PasswordRules.Count, nameof(options.PasswordRules));
        RequireFew(options.AllowedClients.Count, nameof(options.AllowedClients));
        RequireFew(options.RateLimits.Count, nameof(options.RateLimits));
        RequireFew(options.DeniedClients.Count, nameof(options.DeniedClients));
        Require(
            options.PasswordFiles.All(static file => file.Length > 0 && !HasNul(file)),
            "The password file has no name.",
            "Name an htpasswd file.");
        SiteAccess.Check(options);
        FieldValidation.CheckValue("the realm", options.Realm);
    }

    /// <summary>Whether an absolute path is the root or below it, by its text.</summary>
    public static bool IsBelow(string root, string folder) =>
        $"{folder.TrimEnd('/')}/".StartsWith(root.TrimEnd('/') + "/", StringComparison.Ordinal);

    /// <summary>Whether a folder is a root or below it, and no part of the path from there is hidden. Both end in a slash.</summary>
    public static bool IsServed(string root, string folder, DotfilePolicy dotfiles) =>
        folder.StartsWith(root, StringComparison.Ordinal)
        && !(dotfiles == DotfilePolicy.HiddenExceptWellKnown
            && folder[root.Length..].Split('/').Any(static part => part is ['.', _, ..] and not ".well-known"));

    private static bool HasNul(string path) => path.Contains('\0', StringComparison.Ordinal);

    private static void RequireUrlPath(string path) =>
        Require(
            path is ['/', ..] && !path.AsSpan().ContainsAnyInRange('\0', '\x1f') && !path.Contains("//", StringComparison.Ordinal),
            $"'{FieldValidation.Shown(path)}' is not a path of the site.",
            "Write it from the root, such as /index.html.");

    private static void RequireFew(int count, string name) =>
        Require(count <= RuleLimits.OptionRulesMax, $"{name} has {count} entries.", $"Give at most {RuleLimits.OptionRulesMax}.");

    private static void RequireNotNegative(long value, string name) =>
        Require(value >= 0, $"{name} is {value}.", "Give zero or more.");

    private static void Require(bool holds, string cause, string remedy)
    {
        if (!holds)
        {
            throw new SiteException(cause, remedy);
        }
    }
}

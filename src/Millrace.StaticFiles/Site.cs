using System.Diagnostics.CodeAnalysis;
using System.Globalization;
using System.Text;
using Microsoft.Extensions.Logging;
using Millrace.Interop.Zstd;
using Millrace.StaticFiles.Access;
using Millrace.StaticFiles.Archives;
using Millrace.StaticFiles.Compression;
using Millrace.StaticFiles.Dictionaries;
using Millrace.StaticFiles.Planning;
using Millrace.StaticFiles.Rules;
using Millrace.StaticFiles.Scanning;
using Millrace.StaticFiles.Snapshots;
using Millrace.StaticFiles.Watching;

namespace Millrace.StaticFiles;

/// <summary>
/// One served site: catalog, file watch, background compression, access control and response planner. Owns them; any thread may use it.
/// </summary>
internal sealed class Site : IDisposable
{
    private readonly SiteLog _log;
    private readonly SiteOptions _options;
    private readonly UnsettledRecheck _recheck;
    private readonly TreeWatch _watch;
    private readonly ScanProgress _progress;
    private readonly Revalidation _revalidation;
    private readonly Refresher _revalidator;
    private readonly BackgroundCompressor? _compressor;
    private readonly OnDemandCompressor? _onDemand;
    private readonly MaintenanceSwitch? _maintenance;

    /// <summary>Holds the site's password file if the options brought no shared <see cref="PrivateFiles"/>.</summary>
    private PrivateFiles? _ownPrivateFiles;

    private Site(
        SiteOptions options,
        SiteLog log,
        TreeWatch watch,
        AssetCatalog catalog,
        ScanProgress progress,
        SiteAccess access)
    {
        _log = log;
        _options = options;
        _watch = watch;
        _progress = progress;
        Catalog = catalog;
        Access = access;
        RateLimits = RateLimitRules.Of(options);
        _onDemand = options.Compression ? new OnDemandCompressor(catalog, log.ReportCompressionFailure, BodyCoder.TryCodeQuickly) : null;
        _maintenance = options.MaintenanceFile is string file
            ? new MaintenanceSwitch(file, hasBegun => log.ReportMaintenance(Root, hasBegun, file), TimeProvider.System)
            : null;
        Archives = options.Archives == ArchiveFormats.None ? null : new SiteArchives(options, access, log);
        AuthorizedFields = [.. options.ForwardAuthCopy.Select(static name => Encoding.ASCII.GetBytes(name.ToLowerInvariant()))];
        MayProxy = options.UpstreamRules.Any();
        // The libraries are loaded here, before the process gives up rights.
        UsesDictionaries = options is { Compression: true, WorksInBackground: true } && (options.Dictionaries || options.PageDictionary)
            && !log.ReportNoDictionaries(Root, ZstdLibrary.Problem) && DictionaryCoder.OfSystem.Count > 0;

        // The dictionary is public and contains text of the pages, which can be reached under other paths than their own.
        PageDictionaries? pages = UsesDictionaries && options.PageDictionary && access.IsEmpty ? new PageDictionaries(catalog) : null;
        Planner = new ResponsePlanner(new SitePolicy(options)
        {
            Access = access,
            Archives = Archives,
            Maintenance = _maintenance,
            OnDemand = _onDemand,
            Pages = pages,
        });
        _revalidation = new Revalidation(catalog, Planner);
        _revalidator = new Refresher(catalog, Root, log);
        _recheck = new UnsettledRecheck(new Refresher(catalog, Root, log), () => catalog.Current.Unsettled, TimeProvider.System);
        Catalog.Changed += OnChanged;
        OnChanged();
        ReportFilesOfOptions();
        _log.ReportSkipped(Root, catalog.Current);
        _compressor = options.WorksInBackground
            ? BackgroundCompressor.Start(
                catalog,
                options,
                log.ReportCompressionFailure,
                log.ReportCompressionSuccess,
                refused: siblings => log.ReportRefused(Root, siblings),
                dictionaries: UsesDictionaries ? failed => DictionariesOf(options, pages, failed) : null)
            : null;
        watch.Start(catalog);
    }

    public string Root => _options.Root;

    public AssetCatalog Catalog { get; }

    public ResponsePlanner Planner { get; }

    /// <summary>Who may see what.</summary>
    public SiteAccess Access { get; }

    /// <summary>The downloads of directories; null if there are none.</summary>
    public SiteArchives? Archives { get; }

    /// <summary>How many requests each client may send; null for any number.</summary>
    public RateLimitRules? RateLimits { get; }

    /// <summary>
    /// The fields, in lower case, that applications get from services that decide on access, and never from clients.
    /// </summary>
    public IReadOnlyList<byte[]> AuthorizedFields { get; }

    /// <summary>Whether a request may be sent to an application.</summary>
    public bool MayProxy { get; }

    /// <summary>Whether file changes are not watched, so that files are checked at each request.</summary>
    public bool Revalidates => _watch.Mode == WatchMode.Revalidate;

    public bool IsCompressing => _compressor is { IsWorking: true };

    /// <summary>Whether responses may depend on the dictionaries of clients.</summary>
    public bool UsesDictionaries { get; }

    /// <summary>The files of earlier deployments, and of this one; null without dictionaries.</summary>
    public DictionaryHistory? History { get; private set; }

    /// <summary>The processor time of coding with dictionaries so far.</summary>
    public TimeSpan DictionaryTime => _compressor?.DictionaryTime ?? TimeSpan.Zero;

    /// <summary>The files that were coded with a dictionary so far.</summary>
    public long DictionaryVariantsMade => _compressor?.DictionaryVariantsMade ?? 0;

    /// <summary>The processor time of background compression so far.</summary>
    public TimeSpan CompressionTime => _compressor?.ProcessorTime ?? TimeSpan.Zero;

    /// <summary>Opens and scans a root. Throws <see cref="SiteException"/> if it cannot be served as configured.</summary>
    public static Site Open(SiteOptions options, ILoggerFactory logging)
    {
        options.Validate();
        options = FromWorkingDirectory(options);
        SiteOptionChecks.RequireOutside(options);
        SiteOptionChecks.RequireFile(options.MaintenanceFile);
        var log = new SiteLog(logging.CreateLogger("Millrace.StaticFiles"));
        PrivateFiles? own = options.PrivateFiles is null && options.PasswordFiles.Any() ? new PrivateFiles() : null;
        options = options with { PrivateFiles = options.PrivateFiles ?? own };
        options.PrivateFiles?.Add(options.PasswordFiles);
        var access = SiteAccess.Open(options, refusal => log.PasswordFileRefused(refusal.Message));
        TreeWatch? watch = null;
        AssetCatalog? catalog = null;
        var progress = new ScanProgress(
            TimeProvider.System, (path, entries, elapsed) => log.SlowScan(options.Root, (int)elapsed.TotalSeconds, path, entries));
        try
        {
            watch = TreeWatch.Open(options.Root, options.Watch, log);
            catalog = AssetCatalog.Open(options, watch, progress);
            access.RequireUnserved(catalog.Current);
            return new Site(options, log, watch, catalog, progress, access) { _ownPrivateFiles = own };
        }
        catch
        {
            watch?.Dispose();
            catalog?.Dispose();
            progress.Dispose();
            access.Dispose();
            own?.Dispose();
            throw;
        }
    }

    /// <summary>Makes paths absolute: builds delete and recreate the working directory.</summary>
    private static SiteOptions FromWorkingDirectory(SiteOptions options)
    {
        IEnumerable<string> paths =
            options.PasswordFiles.Concat([options.Root, options.MaintenanceFile ?? "/", options.DictionaryDirectory ?? "/"]);
        return paths.All(Path.IsPathRooted) ? options : options with
        {
            Root = Absolute(options.Root),
            PasswordFile = Absolute(options.PasswordFile),
            MaintenanceFile = Absolute(options.MaintenanceFile),
            DictionaryDirectory = Absolute(options.DictionaryDirectory),
            PasswordRules = [.. options.PasswordRules.Select(static rule => rule with { PasswordFile = Absolute(rule.PasswordFile) })],
        };
    }

    [return: NotNullIfNotNull(nameof(path))]
    private static string? Absolute(string? path) => path is null ? null : Path.Combine(Environment.CurrentDirectory, path);

    /// <summary>Proves the coded files of a site that does nothing in the background, and logs those that would not be sent.</summary>
    public void CheckSiblings()
    {
        CatalogSnapshot snapshot = Catalog.Acquire();
        try
        {
            _log.ReportRefused(
                Root,
                [
                    .. from one in snapshot.AllSiblings()
                       let verdict = SiblingProof.Of(Catalog, one.Original, one.Sibling, CancellationToken.None)
                       where verdict is not (SiblingVerdict.Proven or SiblingVerdict.Undecided)
                       where Catalog.Decide(one.Original, one.Sibling, verdict)
                       select one.Sibling,
                ]);
        }
        finally
        {
            snapshot.Release();
        }
    }

    /// <summary>Rescans the whole site. False, and logged: the previous snapshot stays.</summary>
    public bool Reload()
    {
        try
        {
            Catalog.Reload();
            _log.Reloaded(Root, Catalog.Current.AssetCount);
            _log.ReportSkipped(Root, Catalog.Current);
            return true;
        }
        catch (SiteException error)
        {
            _log.ReloadFailed(Root, error.Message);
            return false;
        }
    }

    /// <summary>
    /// Checks the files that a response depends on against the disk and refreshes the catalog where they differ. Runs on the thread pool,
    /// because even a stat can take long on a network file system and must not block a reactor. Takes ownership of the parts of the
    /// request: the path, percent-encoded, the query without '?', and the Accept field, which the fallback page depends on.
    /// </summary>
    public Task RevalidateAsync(byte[] targetPath, byte[] query, byte[] accept) =>
        Task.Run(() => _revalidator.TryRun(() => _revalidation.Run(targetPath, query, accept)));

    public void Dispose()
    {
        _watch.Dispose();
        _compressor?.Dispose();
        _onDemand?.Dispose();
        Catalog.Changed -= OnChanged;
        _recheck.Dispose();
        _maintenance?.Dispose();
        Catalog.Dispose();
        _progress.Dispose();
        Access.Dispose();
        _ownPrivateFiles?.Dispose();
    }

    private DictionaryPass DictionariesOf(SiteOptions options, PageDictionaries? pages, Action<Exception> failed)
    {
        DictionaryFolder? folder = options.DictionaryDirectory is string path ? new DictionaryFolder(path) : null;
        History = new DictionaryHistory(
            folder, options.DictionaryStoreBytesMax, options.DictionaryVersions, TimeProvider.System, error => _log.ReportDictionaryFolder(
                options.DictionaryDirectory ?? "", error))
        {
            FolderSucceeded = _log.ReportDictionaryFolderSuccess,
        };
        var scratch = new PlanScratch();
        return new DictionaryPass(
            Catalog, options, History, pages, asset => Access.Restricts(asset.Path, scratch), failed, TimeProvider.System);
    }

    private void OnChanged()
    {
        CatalogSnapshot current = Catalog.Current;
        _log.Report(Root, current.Rules.Warnings);
        _log.Report(Root, current.RuleFiles);
        _log.ReportUnreadable(Root, Catalog);
        _log.ReportMissingPages(Root, MissingPages());
        _recheck.OnChanged();
    }

    /// <summary>Pages that options name and that do not exist. The default page for 404 is optional.</summary>
    private List<(string Path, string Use)> MissingPages()
    {
        var missing = new List<(string Path, string Use)>();
        CatalogSnapshot snapshot = Catalog.Acquire();
        try
        {
            if (_options.Fallback is { } fallback && !Exists(fallback))
            {
                missing.Add((fallback, "--spa"));
            }

            foreach ((int status, string path) in _options.ErrorPages)
            {
                if (!Exists(path) && (status, path) is not (404, SiteOptions.DefaultNotFoundPage))
                {
                    missing.Add((path, string.Create(CultureInfo.InvariantCulture, $"--error-page {status}")));
                }
            }

            return missing;
        }
        finally
        {
            snapshot.Release();
        }

        bool Exists(string path) => snapshot.TryFind(Encoding.UTF8.GetBytes(path), out _, out _) == PathMatch.Asset;
    }

    private void ReportFilesOfOptions()
    {
        foreach (string file in Access.FilesWithoutUsers)
        {
            _log.NoUsers(file);
        }

        if (_options.MaintenanceFile is { } maintenance)
        {
            if (!Directory.Exists(Path.GetDirectoryName(maintenance)))
            {
                _log.NoMaintenanceFolder(maintenance);
            }
            else if (SiteOptionChecks.IsBelow(Root, maintenance))
            {
                _log.MaintenanceFileInRoot(maintenance, Root);
            }
        }
    }
}

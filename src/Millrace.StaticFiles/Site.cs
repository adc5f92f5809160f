using Microsoft.Extensions.Logging;
using Millrace.StaticFiles.Access;
using Millrace.StaticFiles.Compression;
using Millrace.StaticFiles.Planning;
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
    private readonly UnsettledRecheck _recheck;
    private readonly string _root;
    private readonly TreeWatch _watch;
    private readonly ScanProgress _progress;
    private readonly Revalidation _revalidation;
    private readonly Refresher _revalidator;
    private readonly BackgroundCompressor? _compressor;
    private readonly OnDemandCompressor? _onDemand;

    /// <summary>Holds the site's password file if the options brought no shared <see cref="PrivateFiles"/>.</summary>
    private PrivateFiles? _ownPrivateFiles;

    private Site(
        SiteOptions options,
        SiteLog log,
        TreeWatch watch,
        AssetCatalog catalog,
        ScanProgress progress,
        BasicAuthentication? access)
    {
        _log = log;
        _root = options.Root;
        _watch = watch;
        _progress = progress;
        Catalog = catalog;
        Access = access;
        _onDemand = options.Compression ? new OnDemandCompressor(catalog, log.ReportCompressionFailure, BodyCoder.TryCodeQuickly) : null;
        Planner = new ResponsePlanner(
            new SitePolicy(options, access is null ? default : access.Challenge) { OnDemand = _onDemand });
        _revalidation = new Revalidation(catalog, Planner);
        _revalidator = new Refresher(catalog, _root, log);
        _recheck = new UnsettledRecheck(new Refresher(catalog, _root, log), () => catalog.Current.Unsettled, TimeProvider.System);
        Catalog.Changed += OnChanged;
        OnChanged();
        _log.ReportSkipped(_root, catalog.Current);
        _compressor = options.Compression
            ? BackgroundCompressor.Start(catalog, options, log.ReportCompressionFailure, log.ReportCompressionSuccess)
            : null;
        watch.Start(catalog);
    }

    public AssetCatalog Catalog { get; }

    public ResponsePlanner Planner { get; }

    /// <summary>The access check; null if everybody may read.</summary>
    public BasicAuthentication? Access { get; }

    /// <summary>Whether file changes are not watched, so that files are checked at each request.</summary>
    public bool Revalidates => _watch.Mode == WatchMode.Revalidate;

    public bool IsCompressing => _compressor is { IsWorking: true };

    /// <summary>Opens and scans a root. Throws <see cref="SiteException"/> if it cannot be served as configured.</summary>
    public static Site Open(SiteOptions options, ILoggerFactory logging)
    {
        options.Validate();
        options = FromWorkingDirectory(options);
        var log = new SiteLog(logging.CreateLogger("Millrace.StaticFiles"));
        PrivateFiles? own = options is { PrivateFiles: null, PasswordFile: not null } ? new PrivateFiles() : null;
        options = options with { PrivateFiles = options.PrivateFiles ?? own };
        options.PrivateFiles?.Add(options.PasswordFile is string privateFile ? [privateFile] : []);
        BasicAuthentication? access = options.PasswordFile is string file
            ? BasicAuthentication.Open(file, options.Realm, refusal => log.PasswordFileRefused(refusal.Message))
            : null;
        TreeWatch? watch = null;
        AssetCatalog? catalog = null;
        var progress = new ScanProgress(
            TimeProvider.System, (path, entries, elapsed) => log.SlowScan(options.Root, (int)elapsed.TotalSeconds, path, entries));
        try
        {
            watch = TreeWatch.Open(options.Root, options.Watch, log);
            catalog = AssetCatalog.Open(options, watch, progress);
            access?.RequireUnserved(catalog.Current);
            return new Site(options, log, watch, catalog, progress, access) { _ownPrivateFiles = own };
        }
        catch
        {
            watch?.Dispose();
            catalog?.Dispose();
            progress.Dispose();
            access?.Dispose();
            own?.Dispose();
            throw;
        }
    }

    /// <summary>Makes paths absolute: builds delete and recreate the working directory.</summary>
    private static SiteOptions FromWorkingDirectory(SiteOptions options) =>
        Path.IsPathRooted(options.Root) && options.PasswordFile?.StartsWith('/') != false ? options : options with
        {
            Root = Path.Combine(Environment.CurrentDirectory, options.Root),
            PasswordFile = options.PasswordFile is string file ? Path.Combine(Environment.CurrentDirectory, file) : null,
        };

    /// <summary>Rescans the whole site. A failure is logged, and the previous snapshot stays.</summary>
    public void Reload()
    {
        try
        {
            Catalog.Reload();
            _log.Reloaded(_root, Catalog.Current.AssetCount);
            _log.ReportSkipped(_root, Catalog.Current);
        }
        catch (SiteException error)
        {
            _log.ReloadFailed(_root, error.Message);
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
        Catalog.Dispose();
        _progress.Dispose();
        Access?.Dispose();
        _ownPrivateFiles?.Dispose();
    }

    private void OnChanged()
    {
        CatalogSnapshot current = Catalog.Current;
        _log.Report(current.Rules.Warnings);
        _log.Report(_root, current.RuleFiles);
        _log.ReportUnreadable(_root, Catalog);
        _recheck.OnChanged();
    }
}

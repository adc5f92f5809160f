using Microsoft.Extensions.Logging;
using Millrace.StaticFiles.Access;
using Millrace.StaticFiles.Catalog;
using Millrace.StaticFiles.Compression;
using Millrace.StaticFiles.Planning;
using Millrace.StaticFiles.Watching;

namespace Millrace.StaticFiles;

/// <summary>
/// A site that is being served: its catalogue, what keeps that fresh, what compresses for it, who may read it, and the planner that
/// decides for it. Any thread may use it.
/// </summary>
internal sealed class Site : IDisposable
{
    private readonly SiteLog _log;
    private readonly Settling _settling;
    private readonly string _root;
    private readonly TreeWatch _watch;
    private readonly Revalidation _revalidation;
    private readonly BackgroundCompressor? _compressor;

    private Site(SiteOptions options, ILogger logger, SiteLog log, TreeWatch watch, AssetCatalog catalog, BasicAuthentication? access)
    {
        _log = log;
        _root = options.Root;
        _watch = watch;
        Catalog = catalog;
        Access = access;
        Planner = new Planner(new SitePolicy(options, access is null ? default : access.Challenge));
        _revalidation = new Revalidation(catalog, Planner);
        _settling = new Settling(
            new Refresher(catalog, _root, new WatchLog(logger)), () => catalog.Current.Unsettled, TimeProvider.System);
        Catalog.Changed += OnChanged;
        OnChanged();
        _log.NotServed(_root, catalog.Current.SkippedCount, catalog.Current.Skipped);
        _compressor = options.Compression ? BackgroundCompressor.Start(catalog, options, log.CompressionFailed) : null;
        watch.Start(catalog);
    }

    public AssetCatalog Catalog { get; }

    public Planner Planner { get; }

    /// <summary>Who may read it; null for everybody.</summary>
    public BasicAuthentication? Access { get; }

    /// <summary>Whether nobody tells when its files change, so that they are looked at for each request.</summary>
    public bool Revalidates => _watch.Mode == WatchMode.Revalidate;

    /// <summary>Whether files are being compressed now.</summary>
    public bool IsCompressing => _compressor is { IsWorking: true };

    /// <summary>Opens a root and reads it. Throws <see cref="SiteException"/> where it cannot be served as told.</summary>
    public static Site Open(SiteOptions options, ILoggerFactory logging)
    {
        options.Validate();
        ILogger logger = logging.CreateLogger("Millrace.StaticFiles");
        var log = new SiteLog(logger);
        BasicAuthentication? access = options.PasswordFile is string file
            ? BasicAuthentication.Open(file, options.Realm, refusal => log.PasswordFileRefused(refusal.Message))
            : null;
        TreeWatch? watch = null;
        AssetCatalog? catalog = null;
        try
        {
            watch = TreeWatch.Open(options.Root, options.Watch, logger);
            catalog = AssetCatalog.Open(options, watch);
            access?.RequireUnserved(catalog.Current);
            return new Site(options, logger, log, watch, catalog, access);
        }
        catch
        {
            watch?.Dispose();
            catalog?.Dispose();
            access?.Dispose();
            throw;
        }
    }

    /// <summary>Reads everything anew. What cannot be read is logged, and the site stays as it was.</summary>
    public void Reload()
    {
        try
        {
            Catalog.Reload();
            _log.Reloaded(_root, Catalog.Current.AssetCount);
            _log.NotServed(_root, Catalog.Current.SkippedCount, Catalog.Current.Skipped);
        }
        catch (SiteException refusal)
        {
            _log.ReloadRefused(_root, refusal.Message);
        }
    }

    /// <summary>
    /// Looks whether what answers a request is on disk as the snapshot has it, and has read again what is not. On the thread pool: on a
    /// network file system even a look may take long, and no reactor should.
    /// </summary>
    /// <param name="targetPath">The path of a request's target, percent-encoded; taken over.</param>
    /// <param name="query">Its query without '?'; taken over.</param>
    /// <param name="accept">Its Accept field, which the fallback asks about; taken over.</param>
    public Task RevalidateAsync(byte[] targetPath, byte[] query, byte[] accept) =>
        Task.Run(() => Revalidate(targetPath, query, accept));

    public void Dispose()
    {
        _watch.Dispose();
        _compressor?.Dispose();
        Catalog.Changed -= OnChanged;
        _settling.Dispose();
        Catalog.Dispose();
        Access?.Dispose();
    }

    private void Revalidate(byte[] targetPath, byte[] query, byte[] accept)
    {
        try
        {
            _revalidation.Run(targetPath, query, accept);
        }
        catch (SiteException refusal)
        {
            _log.ReloadRefused(_root, refusal.Message);
        }
        catch (ObjectDisposedException)
        {
            // The site was closed meanwhile: the request is planned with what is served in its place.
        }
    }

    private void OnChanged()
    {
        CatalogSnapshot current = Catalog.Current;
        _log.Tell(current.Rules.Warnings);
        _log.Tell(_root, current.Content.RuleFiles);
        _settling.OnChanged();
    }
}

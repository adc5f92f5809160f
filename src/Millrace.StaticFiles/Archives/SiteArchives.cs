using System.Net;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using Millrace.Http;
using Millrace.Interop.Sockets;
using Millrace.StaticFiles.Access;
using Millrace.StaticFiles.Planning;
using Millrace.StaticFiles.Rules;
using Millrace.StaticFiles.Snapshots;

namespace Millrace.StaticFiles.Archives;

/// <summary>
/// The archives of one site's directories: which there are, how many are sent at the same time, to all clients and to one, and one
/// compression after the other on the thread pool, so that all of them together take no more than one processor. Any thread.
/// </summary>
internal sealed class SiteArchives(SiteOptions options, SiteAccess access, SiteLog log)
{
    /// <summary>An archive may take long.</summary>
    private static ReadOnlySpan<byte> RetryAfterSeconds => "10"u8;

    /// <summary>One client gets at most one of so many, so that others get some too.</summary>
    private const int ClientShare = 4;

    private readonly Lock _lock = new();
    private readonly Lock _counting = new();
    private readonly Dictionary<ClientAddress, int> _byClient = [];
    private Task _last = Task.CompletedTask;
    private int _count;

    /// <summary>Whether <c>/page</c> is answered with <c>/page.html</c>.</summary>
    public bool HasCleanUrls => options.CleanUrls;

    /// <summary>How many archives are being sent.</summary>
    public int Count => Volatile.Read(ref _count);

    /// <summary>
    /// The formats that a directory can be downloaded in. None if a service decides on it: it decides on each URL, and the archive's is
    /// another one than its files'.
    /// </summary>
    public ArchiveFormats FormatsFor(ReadOnlySpan<byte> urlPath, SiteDirectory directory, PlanScratch scratch) =>
        access.AsksService(urlPath, scratch) || access.AsksService(directory.Path, scratch) ? ArchiveFormats.None : options.Archives;

    /// <summary>The status of the response to a request for an archive in a format, or in none that is known.</summary>
    public int StatusFor(scoped in PlanRequest request, ArchiveFormats format, PlanScratch scratch)
    {
        if ((format & options.Archives) == 0)
        {
            return PlanStatus.NotFound;
        }

        if (!AcceptEncoding.TryChoose(request.AcceptEncoding, CodingSet.Identity, out _))
        {
            return PlanStatus.NotAcceptable;
        }

        if (request.Method == Method.Get && !HasRoomFor(request.Client))
        {
            scratch.Add(PlanFieldName.RetryAfter, RetryAfterSeconds);
            return PlanStatus.ServiceUnavailable;
        }

        // It has no validators: no two of them need be equal.
        var current = new Validators { EntityTag = default, LastModified = Validators.NoDate, IsDateStrong = false };
        return Preconditions.Evaluate(request.Conditions, current) switch
        {
            PreconditionOutcome.Failed => PlanStatus.PreconditionFailed,
            PreconditionOutcome.NotModified => PlanStatus.NotModified,
            _ => PlanStatus.Ok,
        };
    }

    public ResponsePlan Plan(
        scoped in PlanRequest request,
        ArchiveFormats format,
        SiteDirectory directory,
        ReadOnlySpan<byte> urlPath,
        FieldSet fields,
        PlanScratch scratch)
    {
        if (fields.Find("Content-Disposition") is null)
        {
            scratch.Add(PlanFieldName.ContentDisposition, DirectoryArchive.Disposition(urlPath, format));
        }

        return ResponsePlan.Of(new DirectoryArchive(this, format, directory, urlPath.ToArray(), access, request.Client), fields);
    }

    /// <summary>Begins an archive; false if there are too many, or too many of the client. The caller ends it.</summary>
    public bool TryBegin(IPAddress? client)
    {
        lock (_counting)
        {
            bool hasRoom = HasRoomFor(client);
            if (hasRoom)
            {
                _count++;
                if (client is not null)
                {
                    CollectionsMarshal.GetValueRefOrAddDefault(_byClient, ClientAddress.Of(client), out _)++;
                }
            }

            return hasRoom;
        }
    }

    public void End(IPAddress? client)
    {
        lock (_counting)
        {
            _count--;
            if (client is not null && --CollectionsMarshal.GetValueRefOrAddDefault(_byClient, ClientAddress.Of(client), out _) == 0)
            {
                _byClient.Remove(ClientAddress.Of(client));
            }
        }
    }

    /// <summary>Has a producer run on the thread pool, after those that wait already. Does not throw.</summary>
    public Task<ArchiveStep> RunAsync(ArchiveProducer producer)
    {
        lock (_lock)
        {
            Task<ArchiveStep> run = _last.ContinueWith(
                static (_, state) => Run((StrongBox<ArchiveProducer?>)state!),
                new StrongBox<ArchiveProducer?>(producer),
                CancellationToken.None,
                TaskContinuationOptions.None,
                TaskScheduler.Default);
            _last = run;
            return run;
        }
    }

    public void ReportCut(Asset file, string reason) => log.ReportArchiveCut(options.Root, file.SitePath, reason);

    public void ReportLeftOut(Asset file) => log.ReportArchiveEntryLeftOut(options.Root, file.SitePath);

    /// <summary>Empties the box: the last task of all is kept, and with it what it was given.</summary>
    private static ArchiveStep Run(StrongBox<ArchiveProducer?> box)
    {
        ArchiveProducer producer = box.Value!;
        box.Value = null;
        try
        {
            return producer.Run();
        }
#pragma warning disable CA1031 // It is logged, and ends this archive alone.
        catch (Exception error)
#pragma warning restore CA1031
        {
            producer.Archives.ReportFailure(error);
            return ArchiveStep.Failed;
        }
    }

    private bool HasRoomFor(IPAddress? client)
    {
        lock (_counting)
        {
            int ofClient = client is null ? 0 : _byClient.GetValueOrDefault(ClientAddress.Of(client));
            return _count < options.ArchivesMax && ofClient < Math.Max(1, options.ArchivesMax / ClientShare);
        }
    }

    private void ReportFailure(Exception error) => log.ArchiveFailed(options.Root, error);
}

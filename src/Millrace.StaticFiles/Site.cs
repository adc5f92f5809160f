using Microsoft.Extensions.Logging;
using Millrace.StaticFiles.Access;
using Millrace.StaticFiles.Catalog;
using Millrace.StaticFiles.Compression;
using Millrace.StaticFiles.Planning;
using Millrace.StaticFiles.Watching;

namespace Millrace.StaticFiles;

/// <summary>
/// A site that is being served: its catalogue, what keeps that fresh, what compresses for it, who may read it, and the planner that decides
/// for it. Any thread may use it.
/// </summary>
internal sealed class Site : IDisposable
{
}

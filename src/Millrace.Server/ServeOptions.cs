using System.Net;
using Millrace.Engine;

namespace Millrace.Server;

/// <summary>What the command line asked for.</summary>
internal sealed record ServeOptions(string Root, IReadOnlyList<EndPoint> Addresses, int Reactors, BackendKind Backend);

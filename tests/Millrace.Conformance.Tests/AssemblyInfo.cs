using System.Runtime.Versioning;
using Millrace.Conformance.Tests.Kit;

[assembly: AssemblyFixture(typeof(Run))]
[assembly: SupportedOSPlatform("linux")]

// Static files by three other ways than the server's own, so that bench/run can compare them:
//   fronts pipe|kestrel|map-static-assets PORT ROOT
// pipe: a handler over PipeReader and PipeWriter on the engine. kestrel: UseMillraceStaticFiles over UseMillrace.
// map-static-assets: ASP.NET Core's own, on the sockets transport; it serves what was published with it, and ROOT is not looked at.
using System.Globalization;
using Millrace.Fronts;

CultureInfo.CurrentCulture = CultureInfo.InvariantCulture;
switch (args)
{
    case ["pipe", string port, string root]:
        await PipeFront.ServeAsync(int.Parse(port, CultureInfo.InvariantCulture), Path.GetFullPath(root));
        return 0;
    case ["kestrel", string port, string root]:
        await AspNetFronts.ServeByMillraceAsync(int.Parse(port, CultureInfo.InvariantCulture), Path.GetFullPath(root));
        return 0;
    case ["map-static-assets", string port, _]:
        await AspNetFronts.ServeMappedAssetsAsync(int.Parse(port, CultureInfo.InvariantCulture));
        return 0;
    default:
        await Console.Error.WriteLineAsync("usage: fronts pipe|kestrel|map-static-assets PORT ROOT");
        return 2;
}
